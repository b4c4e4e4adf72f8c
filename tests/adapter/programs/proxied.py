"""A worker as part of a run: it has a debug proxy, waits for a debugger if told so, then works until its input ends."""

import importlib.util
import json
import multiprocessing
import os
import socket
import sys
import threading
from pathlib import Path

from eagleray.remote.injected.debug_proxy import handle
from eagleray.remote.injected.debugpy.debugger import DebugpyServer

HERE = str(Path(__file__).resolve())
options = json.loads(sys.argv[1])
asked = threading.Event()
gone = threading.Event()
asked_for = 0
spinning = {1}
debugger = DebugpyServer(children=True)


def on_line(line):
    print("line", json.dumps(line), flush=True)
    if line["op"] == "go" and line["asked"] == asked_for:
        gone.set()
    if line["op"] == "debug":
        if os.environ.get("NO_DEBUGPY"):
            ours.send("problem", code="no-debugpy", text="No module named 'debugpy'")
            return
        debugger.listen()
        with debugger.take_channel() as channel:
            ours.send("listening", passing=[channel.fileno()], debugpy=debugger.version)
        asked.set()


def work(number):
    text = f"work {number}"
    # A comment: code can stand only beside it.
    print(text, flush=True)
    return text


def stop():
    # As the hook of a run does in place of Ray's breakpoint().
    sys.modules["pydevd"].settrace(stop_at_frame=sys._getframe())
    print("stopped", flush=True)


def fail():
    raise RuntimeError("in a thread")


def spin():
    print("spinning", flush=True)
    while spinning:
        pass
    print("span", flush=True)


def load(path, shown):
    global asked_for
    gone.clear()
    asked_for += 1
    ours.send("files", files={HERE: HERE, shown: path}, wait=asked_for)
    gone.wait(60)
    spec = importlib.util.spec_from_file_location("late", path)
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


def wait():
    ours.send("waiting")
    if asked.wait(options.get("wait_s", 60)):
        debugger.wait(None)
        print("attached", flush=True)
    else:
        ours.send("free")
        print("nobody came", flush=True)


who = {
    "pid": os.getpid(), "kind": "worker", "worker_id": options.get("worker_id", "w1"), "class": "Policy",
    "name": "policy", "rank": "0", "python": ".".join(map(str, sys.version_info[:2])), "matches": True,
    "files": {HERE: HERE, **options.get("files", {})}, "session": "session_1", "cwd": "/",
    "nsys": options.get("nsys", ""),
}  # fmt: skip
first = {
    "run": options["run"],
    "verifier": options["verifier"],
    "hold_s": options.get("hold_s", 60),
}
file = options["file"]
if "link" in options:
    # Callers know only the address of a link that leads to the debug proxy.
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print("listens at", listener.getsockname()[1], flush=True)
        addresses = [["127.0.0.1", options["link"]]]
        ours = handle.start_proxy_at(
            listener, {**first, "who": who, "file": file, "addresses": addresses}
        )
else:
    ours = handle.start_proxy(**first, host="127.0.0.1", info=who, file=file)
ours.serve(on_line)
if options.get("waits"):
    wait()
for row in sys.stdin:
    words = row.split()
    if words[0] == "who":
        ours.send("who", matches=words[1] == "yes")
    elif words[0] == "threads":
        together = [threading.Thread(target=work, args=(n,)) for n in range(int(words[1]))]
        for thread in together:
            thread.start()
        for thread in together:
            thread.join()
        print("all threads done", flush=True)
    elif words[0] == "fail":
        failing = threading.Thread(target=fail)
        failing.start()
        failing.join()
    elif words[0] == "stop":
        stop()
    elif words[0] == "spin":
        spin()
    elif words[0] == "import":
        load(words[1], words[2])
    elif words[0] == "child":
        child = multiprocessing.get_context("fork").Process(target=work, args=(int(words[1]),))
        child.start()
        child.join()
        print(f"child {words[1]} done", flush=True)
    elif words[0] == "fork":
        child = os.fork()
        if child == 0:
            os.close(0)
            threading.Event().wait()
        print("forked", child, flush=True)
    else:
        work(int(words[1]))
print("done", flush=True)
