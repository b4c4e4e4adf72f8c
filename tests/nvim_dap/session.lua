-- Debug sessions of nvim-dap, one by name: SCENARIO CONFIG FILE.  CONFIG is the Lua of docs/dap-clients.md, FILE the
-- program that the worker runs.  Prints one line of JSON: what the user of the editor would have seen.
local scenario, config, file = unpack(arg)
local LIMIT_MS = 60000

local dap = require("dap")
local seen = { notifications = {} }
local stops, resumptions = 0, 0

vim.notify = function(message)
  table.insert(seen.notifications, message)
end
-- The user takes the first choice, of workers as of threads.
vim.ui.select = function(items, options, choose)
  seen.choices = seen.choices or vim.tbl_map(options.format_item, items)
  choose(items[1])
end
-- nvim-dap requests the scopes once for each stop and each change of the frame.
dap.listeners.after.scopes.test = function()
  stops = stops + 1
end

dap.listeners.after.continue.test = function()
  resumptions = resumptions + 1
end

local function wait(what, condition)
  if not vim.wait(LIMIT_MS, condition, 10) then
    error("not in time: " .. what .. "; " .. vim.inspect(seen))
  end
end

local function attach(options)
  dap.run(dap.configurations.python[#dap.configurations.python], options)
end

-- Where the stop is that follows a command, once the cursor is there.
local function stop_after(name, command)
  local before = stops
  command()
  wait("stop after " .. name, function()
    return stops > before and dap.session() and dap.session().current_frame ~= nil
  end)
  local frame = dap.session().current_frame
  -- debugpy never answers a request for variables that `continue` overtakes, and may stay silent then.
  wait("variables after " .. name, function()
    return vim.iter(frame.scopes or {}):all(function(scope)
      return scope.variables ~= nil
    end)
  end)
  -- debugpy asks that a pause doesn't move the cursor.
  wait("cursor after " .. name, function()
    return name == "pause" or vim.api.nvim_win_get_cursor(0)[1] == frame.line
  end)
  return { name, vim.fs.basename(vim.api.nvim_buf_get_name(0)), frame.line }
end

local function no_session()
  wait("end of the session", function()
    return dap.session() == nil
  end)
end

local function await(what, begin)
  local done, result = false, nil
  begin(function(...)
    done, result = true, { ... }
  end)
  wait(what, function()
    return done
  end)
  return unpack(result)
end

local function evaluate(expression, context)
  local failure, response = await(expression, function(done)
    dap.session():evaluate({ expression = expression, context = context }, done)
  end)
  return failure and tostring(failure) or response.result
end

local function set_breakpoint(line, ...)
  vim.api.nvim_win_set_cursor(0, { line, 0 })
  dap.set_breakpoint(...)
end

-- The text of one of nvim-dap's floating windows, once it shows `text`.
local function widget(name, text)
  local widgets = require("dap.ui.widgets")
  local view = widgets.centered_float(widgets[name])
  local shown
  wait("widget " .. name, function()
    shown = table.concat(vim.api.nvim_buf_get_lines(view.buf, 0, -1, false), "\n")
    return shown:find(text, 1, true) ~= nil
  end)
  view.close()
  return shown
end

local function signs()
  local placed = vim.fn.sign_getplaced(vim.fn.bufnr(file), { group = "dap_breakpoints" })
  local names = {}
  for _, sign in ipairs(placed[1].signs) do
    names[tostring(sign.lnum)] = sign.name
  end
  return names
end

local scenarios = {}

-- loop.py: all that the commands of nvim-dap do.
function scenarios.session()
  vim.cmd.edit(file)
  set_breakpoint(11, nil, nil, "loss is {loss}")
  set_breakpoint(12, "step == 0")
  set_breakpoint(13, "(((")
  seen.stops = { stop_after("attach", attach) }
  seen.signs = signs()
  seen.evaluated = { evaluate("loss", "hover"), evaluate("step + 41", "repl"), evaluate("nothing", "watch") }
  seen.scopes = widget("scopes", "loss: 1.0")
  seen.frames = widget("frames", "main:18")
  local frame = dap.session().current_frame
  seen.completions = await("completions", function(done)
    dap.session():request("completions", { frameId = frame.id, text = "los", column = 4 }, function(_, response)
      done(response.targets)
    end)
  end)
  local scope = frame.scopes[1].variablesReference
  await("setVariable", function(done)
    dap.session():request("setVariable", { variablesReference = scope, name = "loss", value = "4.0" }, done)
  end)
  dap.set_exception_breakpoints({ "raised" })
  local commands = {
    { "continue", dap.continue },
    { "step_over", dap.step_over },
    { "goto 11", function() dap.goto_(11) end },
    { "goto cursor", function() vim.api.nvim_win_set_cursor(0, { 12, 0 }) dap.goto_() end },
    { "run_to_cursor", function() vim.api.nvim_win_set_cursor(0, { 13, 0 }) dap.run_to_cursor() end },
    { "step_out", dap.step_out },
    { "step_into", dap.step_into },
    { "step_into target", function() dap.step_into({ askForTargets = true }) end },
    { "up", dap.up },
    { "down", dap.down },
  }
  for _, command in ipairs(commands) do
    table.insert(seen.stops, stop_after(unpack(command)))
  end
  require("dap.repl").open()
  wait("log point in the REPL", function()
    seen.repl = table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr("dap-repl"), 0, -1, false), "\n")
    return seen.repl:find("loss is", 1, true) ~= nil
  end)
  table.insert(seen.stops, stop_after("restart", dap.restart))
  dap.clear_breakpoints()
  await("disconnect", function(done) dap.disconnect(nil, done) end)
  no_session()
end

-- loop.py: the session ends in one of these ways after a first stop.
local leave = {}
function leave.disconnect() dap.disconnect() no_session() end
function leave.terminate() dap.terminate() no_session() end
function leave.close() dap.close() end
function leave.quit() end
function leave.kill() vim.uv.kill(vim.uv.os_getpid(), "sigkill") end
function leave.release()
  dap.disconnect({ terminateDebuggee = false, suspendDebuggee = false })
  no_session()
end
for name, command in pairs(leave) do
  scenarios["leave " .. name] = function()
    seen.stops = { stop_after("attach", attach) }
    command()
  end
end

-- loop.py: a second session takes the worker over from the first.
function scenarios.takeover()
  local first = { stop_after("attach", attach) }
  seen.stops = { first[1], stop_after("attach again", function() attach({ new = true }) end) }
  wait("end of the first session", function()
    return vim.tbl_count(dap.sessions()) == 1
  end)
  seen.evaluated = { evaluate("step", "watch") }
  dap.close()
end

-- threaded.py: three threads are stopped.
function scenarios.threads()
  seen.stops = { stop_after("attach", attach) }
  seen.threads = widget("threads", "rollout_2")
  seen.evaluated = { evaluate("number * 10 == reward", "watch") }
  dap.close()
end

-- busy.py: pauses the worker, lets it run, and pauses it once more in another session.
function scenarios.pause()
  seen.stops = { stop_after("attach", attach) }
  dap.continue()
  wait("threads", function()
    return vim.tbl_count(dap.session().threads) == 3
  end)
  table.insert(seen.stops, stop_after("pause", dap.pause))
  local before = resumptions
  dap.continue()
  wait("resumption", function()
    return resumptions > before
  end)
  dap.close()
  no_session()
  attach()
  wait("threads of a running worker", function()
    local session = dap.session()
    return session and session.initialized and next(session.threads) ~= nil
  end)
  table.insert(seen.stops, stop_after("pause", dap.pause))
  dap.close()
end

-- failing.py: a post-mortem, and the end of the worker.
function scenarios.failure()
  seen.stops = { stop_after("attach", attach) }
  wait("diagnostic", function()
    return #vim.diagnostic.get(0) == 1
  end)
  seen.diagnostic = vim.diagnostic.get(0)[1].message
  dap.continue()
  no_session()
end

dofile(config)
local ok, failure = pcall(scenarios[scenario])
io.stdout:write(vim.json.encode(seen), "\n")
if not ok then
  io.stderr:write(tostring(failure), "\n")
  os.exit(1)
end
