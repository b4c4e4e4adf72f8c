"""The example of AReaL's debugging guide, smaller: its program starts runs at module level, against port 8080."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from eagleray.rollouts.agents.model import Mode
from eagleray.tools.code_copies import self_command

from tests.engine.fixtures import ENGINE_PYTHON, engine_command
from tests.ray_cluster import REPOSITORY
from tests.rollouts.observed import broken, observe, plan_of

# Also without the import of `os`, as in the guide.
AGENT = """\
import asyncio

from openai import AsyncOpenAI


class MyAgent:
    async def run(self, data, **extra_kwargs):
        base_url = extra_kwargs.get("base_url") or os.getenv("OPENAI_BASE_URL")
        api_key = extra_kwargs.get("api_key") or os.getenv("OPENAI_API_KEY")
        async with AsyncOpenAI(base_url=base_url, api_key=api_key) as client:
            comp = await client.chat.completions.create(
                model="qwen/qwen2.5-0.5b-instruct",
                messages=data["messages"],
                temperature=0,
                max_tokens=64,
            )
        return 1.0  # random reward


data = dict(messages=[{"role": "user", "content": "List 3 countries and their capitals."}])

# If you use a local inference server
port = 8080
asyncio.run(MyAgent().run(data, base_url=f"http://127.0.0.1:{port}/v1", api_key="None"))
"""
PROVIDER = """
# If you use the official model provider
asyncio.run(MyAgent().run(data, base_url="https://api.openai.com/v1", api_key="YOUR_API_KEY"))
"""
WAVE = """
# Example GRPO configuration
global_bs = 16
group_size = 8

# Example allocation
rollout_dp_size = 4

local_bs = global_bs // rollout_dp_size
port = 8080


async def run_agent(data):
    return await MyAgent().run(data, base_url=f"http://127.0.0.1:{port}/v1", api_key="None")


async def grouped_rollout(data):
    return await asyncio.gather(*[run_agent(data) for _ in range(group_size)])


async def batched_rollout(batch):
    assert len(batch) == local_bs
    return await asyncio.gather(*[grouped_rollout(data) for data in batch])


# batch should be a list of data dicts with length == local_bs
batch = [data] * local_bs
asyncio.run(batched_rollout(batch))
"""
ITEM = {"messages": [{"role": "user", "content": "List 3 countries and their capitals."}]}
GUARD = 'Put {} under `if __name__ == "__main__":`.'


def test_example_runs_as_a_program_and_as_an_agent(own_home: Path, tmp_path: Path) -> None:
    """In a network of its own, where port 8080 is free and no provider is reached."""
    (tmp_path / "local.py").write_text(AGENT + WAVE)
    (tmp_path / "both.py").write_text(AGENT + PROVIDER)
    (tmp_path / "data.jsonl").write_text(json.dumps(ITEM) + "\n")
    eagleray = shlex.join(self_command("cli"))
    agent = f"both.py:MyAgent --data data.jsonl --server guide --json --python {ENGINE_PYTHON}"
    script = f"""
        ip link set lo up
        (cd {REPOSITORY} && {eagleray} serve start --name guide -- \\
            {shlex.join(engine_command("--port", "8080"))}) >&2
        eval "$({eagleray} serve env guide)"
        {ENGINE_PYTHON} local.py >&2 && echo local >> ends
        {ENGINE_PYTHON} both.py 2> both.txt || echo both >> ends
        {eagleray} agent run {agent} > run.json
        {eagleray} agent wave --groups 4 --group-size 2 {agent} > wave.json
        {eagleray} serve stop guide >&2
    """
    done = subprocess.run(
        ["unshare", *_namespaces(), "bash", "-c", script],
        cwd=tmp_path,
        env=_environment(own_home),
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert (tmp_path / "ends").read_text().split() == ["local", "both"], done.stderr
    failed = (tmp_path / "both.txt").read_text()
    # The local server has answered, so that the second call is the one that failed.
    assert 'base_url="https://api.openai.com/v1"' in failed and "APIConnectionError" in failed
    run = json.loads((tmp_path / "run.json").read_text())
    assert (run["outcome"], run["result"], run["error"]) == ("done", 1.0, None)
    [rule] = [rule for rule in run["contract"] if not rule["ok"]]
    assert rule["rule"] == "import"
    assert rule["text"] == (
        "Lines 24, 27 start a loop at import, and were skipped. " + GUARD.format("them")
    )
    wave = json.loads((tmp_path / "wave.json").read_text())
    assert (wave["runs"], wave["failed"]) == (8, 0)


def _namespaces() -> list[str]:
    user = [] if os.getuid() == 0 else ["--map-root-user"]
    return [*user, "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]


def _environment(home: Path) -> dict[str, str]:
    left_out = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "LLAMA_API_KEY")
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    return {**environment, "EAGLERAY_HOME": str(home), "EAGLERAY_DISCOVERY": "off"}


SCRIPT = """\
import asyncio
class Agent:
    async def run(self, data, **extra_kwargs):
        return 1.0
"""


async def outcome(
    tmp_path: Path, program: str, mode: Mode = "inline", python: str = sys.executable
) -> tuple[str, str]:
    """The outcome of a run, and what the contract says of the import."""
    (tmp_path / "program.py").write_text(program)
    target = f"{tmp_path / 'program.py'}:Agent"
    plan = plan_of(target, cwd=str(tmp_path), mode=mode, python=python)
    observed = await observe(plan)
    texts = broken(observed)
    return (
        observed.runs[0].outcome if observed.runs else "not-run",
        texts.get("import", "") + texts.get("loads", ""),
    )


@pytest.mark.parametrize(
    "start",
    [
        "asyncio.run(Agent().run({}))",
        "asyncio.run(\n    Agent().run({}),\n)",
        "asyncio.get_event_loop_policy().new_event_loop().run_until_complete(Agent().run({}))",
        "if True:\n    asyncio.run(Agent().run({}))",
        "def main():\n    asyncio.run(Agent().run({}))\nmain()",
        "asyncio.new_event_loop().run_forever()",
        "with asyncio.Runner() as runner:\n    runner.run(Agent().run({}))",
    ],
)
async def test_loop_that_a_script_starts_is_skipped(
    own_home: Path, tmp_path: Path, start: str
) -> None:
    program = SCRIPT.replace("return 1.0", "return 1.0 if self.ready else 2.0") + start
    program = program.replace("class Agent:", "class Agent:\n    ready = True")
    ended, text = await outcome(tmp_path, program)
    assert ended == "done"
    assert "starts a loop at import, and was skipped." in text


RUNS = "def run(*arguments, **named):\n    raise SystemExit('it ran')\n"
METHOD = RUNS.replace("    ", "        ")
# As nest-asyncio 1.6 does.
PATCHES = "import asyncio\ndef apply():\n    asyncio.run = run\n" + RUNS


@pytest.mark.parametrize(
    ("library", "text", "start"),
    [
        ("trio", RUNS, "import trio\ntrio.run(Agent().run, {})"),
        ("curio", RUNS, "from curio import run\nrun(Agent().run({}))"),
        ("uvloop", RUNS, "import uvloop\nuvloop.run(Agent().run({}))"),
        (
            "uvloop",
            f"class Loop:\n    {METHOD}    run_until_complete = run\n",
            "import uvloop\nuvloop.Loop().run_until_complete(Agent().run({}))",
        ),
        (
            "tornado/ioloop",
            f"class IOLoop:\n    {METHOD}    run_sync = run\n",
            "from tornado.ioloop import IOLoop\nIOLoop().run_sync(Agent().run)",
        ),
        (
            "nest_asyncio",
            PATCHES,
            "import nest_asyncio\nnest_asyncio.apply()\nasyncio.run(Agent().run({}))",
        ),
    ],
)
async def test_loop_that_a_library_starts_is_skipped(
    own_home: Path, tmp_path: Path, library: str, text: str, start: str
) -> None:
    file = tmp_path / f"{library}.py"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    ended, broken_rule = await outcome(tmp_path, SCRIPT + start)
    assert ended == "done"
    assert "starts a loop at import, and was skipped." in broken_rule


async def test_loop_of_the_installed_anyio_is_skipped(own_home: Path, tmp_path: Path) -> None:
    program = SCRIPT + "import anyio\nanyio.run(Agent().run, {})"
    ended, text = await outcome(tmp_path, program, python=ENGINE_PYTHON)
    assert (ended, text.partition(",")[0]) == ("done", "Line 6 starts a loop at import")


async def test_library_that_replaces_the_loop_stays_in_the_agent(
    own_home: Path, tmp_path: Path
) -> None:
    """The guard ends with the import, and takes nothing back that the module did."""
    (tmp_path / "nest_asyncio.py").write_text(PATCHES)
    program = SCRIPT.replace("1.0", "float(asyncio.run.__module__ == 'nest_asyncio')")
    program = "import nest_asyncio\nnest_asyncio.apply()\n" + program
    (tmp_path / "program.py").write_text(program)
    observed = await observe(plan_of(f"{tmp_path / 'program.py'}:Agent", cwd=str(tmp_path)))
    assert [run.reward for run in observed.runs] == [1.0]


async def test_loop_is_skipped_in_processes_that_import_the_module(
    own_home: Path, tmp_path: Path
) -> None:
    spawned = "import multiprocessing\nmultiprocessing.set_start_method('spawn', force=True)\n"
    fails = "async def fail():\n    raise ValueError\nasyncio.run(fail())\n"
    ended, text = await outcome(tmp_path, spawned + SCRIPT + fails, "subproc")
    assert ended == "done"
    assert text.startswith("Line 9 starts a loop at import, and was skipped.")


async def test_loop_whose_result_is_used_runs(own_home: Path, tmp_path: Path) -> None:
    program = SCRIPT.replace("1.0", "float(rows)") + (
        "async def read():\n    return 5\nrows = asyncio.run(read())\n"
    )
    assert await outcome(tmp_path, program) == ("done", "")


async def test_loop_of_another_module_runs(own_home: Path, tmp_path: Path) -> None:
    (tmp_path / "prepared.py").write_text(
        "import asyncio\nrows = []\nasync def read():\n    rows.append(5)\nasyncio.run(read())\n"
    )
    program = "from prepared import rows\n" + SCRIPT.replace("1.0", "float(rows[0])")
    assert await outcome(tmp_path, program) == ("done", "")


async def test_line_that_fails_below_the_class_is_named(own_home: Path, tmp_path: Path) -> None:
    ended, text = await outcome(tmp_path, SCRIPT + "import sys\nsys.exit(Agent)\n")
    assert ended == "not-run"
    assert text.startswith("Line 6 failed at import. " + GUARD.format("it") + " SystemExit: ")


async def test_line_that_fails_above_the_class_is_an_error_of_the_module(
    own_home: Path, tmp_path: Path
) -> None:
    ended, text = await outcome(tmp_path, "import no_such\n" + SCRIPT)
    assert (ended, text) == (
        "not-run",
        "The module can't be imported. ModuleNotFoundError: No module named 'no_such'",
    )
