"""A process that runs or hangs is shown to DAP clients as a paused session, and continues as before."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from eagleray.debug.source_mapping.source_mapping import SourceMapping
from eagleray.observe.look_inside import conversations, inspections
from eagleray.observe.look_inside.inspections import Inspections
from eagleray.observe.look_inside.model import InspectionTarget, OpenedInspection
from eagleray.observe.look_inside.virtual_stop import STOP_REQUEST
from eagleray.remote.inspecting import injection
from eagleray.remote.inspecting.inside.frames import MOST_LISTED

from tests.dap_client import DapClient, RequestFailed
from tests.remote.inspecting.test_bounded_reading import MANY_GLOBALS
from tests.remote.inspecting.test_processes import (
    WAYS,
    ends,
    program,
    python,
    states_of_threads,
    thread_count,
    wait_until,
)
from tests.remote.inspecting.test_real_stop import says

# Just deep enough.
DESCENDING = f"""
sys.setrecursionlimit(10_000)
def descend(depth):
    descend(depth - 1) if depth else sys.stdin.readline()
descend({MOST_LISTED})
"""
HELD = "ctypes.PyDLL(None).sleep(4)\nsys.stdin.readline()"


@pytest.fixture
async def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Inspections]:
    monkeypatch.setattr(inspections, "run_folder", lambda: tmp_path)
    made = Inspections(SourceMapping(None, tmp_path), lambda cluster: None)  # type: ignore[arg-type,return-value]
    yield made
    await made.close()
    assert list(tmp_path.glob("*.sock")) == []


async def open_(opened: Inspections, pid: int, **more: Any) -> OpenedInspection:
    return await opened.open(InspectionTarget(pid, **more), [], lambda text: None)


async def shown(
    opened: Inspections, pid: int, story: Callable[[DapClient], None], **more: Any
) -> OpenedInspection:
    """Runs `story` with a client that has reached the virtual stop, then disconnects."""
    inspection = await open_(opened, pid, **more)

    def work() -> None:
        client = DapClient.unix(inspection.socket)
        try:
            client.attach()
            client.wait_for("stopped")
            story(client)
            client.leave()
        finally:
            with contextlib.suppress(OSError):
                client.close()

    await asyncio.to_thread(work)
    return inspection


def frame_named(client: DapClient, function: str) -> dict[str, Any]:
    main = client.request("threads")["threads"][0]
    return next(
        frame for frame in client.stack(main["id"]) if frame["name"].split(".")[-1] == function
    )


def announced(client: DapClient) -> list[dict[str, Any]]:
    """The stops of main threads; each of the others follows with the same description."""
    bodies = [event["body"] for event in client.events("stopped")]
    assert {body["description"] for body in bodies} == {"Looking inside"}
    return [body for body in bodies if not body.get("preserveFocusHint")]


def is_real(body: dict[str, Any]) -> bool:
    """Whether a thread was really stopped."""
    return body.get("description") != "Looking inside"


def output(client: DapClient) -> str:
    return "".join(event["body"]["output"] for event in client.events("output"))


async def test_hanging_process_is_shown_as_paused_and_continues(opened: Inspections) -> None:
    def story(client: DapClient) -> None:
        [stopped] = announced(client)
        assert stopped["text"] == "The worker keeps running."
        threads = client.request("threads")["threads"]
        assert [thread["name"] for thread in threads][:1] == ["MainThread"]
        assert stopped["threadId"] == threads[0]["id"]
        frame = frame_named(client, "fit")
        assert client.variables(frame["id"])["step"] == "7"
        assert client.evaluate("step * 6", frame["id"]) == "42"
        assert "keeps running" in output(client)

    with python(program(WAYS["lock"])) as process:
        inspection = await shown(opened, process.pid, story)
        assert (inspection.how, inspection.name) == ("inside", f"process {process.pid}")
        assert ends(process) == (0, "went on 7\n", "")


async def test_scopes_have_locals_and_globals_with_data_first(opened: Inspections) -> None:
    def story(client: DapClient) -> None:
        frame = frame_named(client, "fit")
        scopes = client.request("scopes", frameId=frame["id"])["scopes"]
        assert [scope["name"] for scope in scopes] == ["Locals", "Globals"]
        reference = scopes[1]["variablesReference"]
        names = [
            variable["name"]
            for variable in client.request("variables", variablesReference=reference)["variables"]
        ]
        assert names[0] == "table" and "fit" in names and "__name__" not in names

    way = "global table\ntable = {'a': [1, 2]}\nsys.stdin.readline()"
    with python(program(way)) as process:
        await shown(opened, process.pid, story)
        assert process.poll() is None


async def test_large_scope_and_deep_stack_end_with_how_much_is_left_out(
    opened: Inspections,
) -> None:
    def story(client: DapClient) -> None:
        [deep] = client.request("threads")["threads"]
        stack = client.stack(deep["id"])
        assert len(stack) == MOST_LISTED + 1
        assert stack[-1]["name"] == "More frames aren't shown."
        assert stack[-1]["presentationHint"] == "label"
        scope = client.request("scopes", frameId=stack[0]["id"])["scopes"][1]
        listed = client.request("variables", variablesReference=scope["variablesReference"])
        more = listed["variables"][-1]
        assert more["name"] == "…" and more["value"].endswith(" more aren't shown.")

    with python(MANY_GLOBALS.replace("\nsys.stdin.readline()\n", DESCENDING)) as process:
        await shown(opened, process.pid, story)
        assert ends(process) == (0, "went on\n", "")


async def test_variables_expand_and_name_an_expression(opened: Inspections) -> None:
    def story(client: DapClient) -> None:
        frame = frame_named(client, "fit")
        scope = client.request("scopes", frameId=frame["id"])["scopes"][0]
        listed = client.request("variables", variablesReference=scope["variablesReference"])
        table = next(item for item in listed["variables"] if item["name"] == "table")
        assert table["value"] == "{'a': [1, 2]}"
        [item] = client.request("variables", variablesReference=table["variablesReference"])[
            "variables"
        ]
        assert (item["name"], item["evaluateName"]) == ("'a'", "table['a']")
        children = client.request("variables", variablesReference=item["variablesReference"])
        assert [child["value"] for child in children["variables"]] == ["1", "2"]
        assert client.evaluate("table['a'][1]", frame["id"]) == "2"

    with python(program("table = {'a': [1, 2]}\nsys.stdin.readline()")) as process:
        await shown(opened, process.pid, story)
        assert ends(process)[0] == 0


async def test_refused_expression_says_why_and_is_allowed_by_an_exclamation_mark(
    opened: Inspections,
) -> None:
    def story(client: DapClient) -> None:
        frame = frame_named(client, "fit")
        with pytest.raises(RequestFailed, match=r"may change the program or wait.*begin it with !"):
            client.evaluate("os.getpid()", frame["id"])
        assert client.evaluate("!os.getpid()", frame["id"]) == str(process.pid)
        with pytest.raises(RequestFailed, match="may change the program") as failed:
            client.request(
                "evaluate", expression="os.getpid()", context="hover", frameId=frame["id"]
            )
        assert "!" not in str(failed.value)
        with pytest.raises(RequestFailed):
            client.request("evaluate", expression="!step", context="watch", frameId=frame["id"])

    with python(program(WAYS["read"])) as process:
        await shown(opened, process.pid, story)
        assert ends(process)[0] == 0


async def test_steps_and_breakpoints_are_refused_with_the_reason(opened: Inspections) -> None:
    def story(client: DapClient) -> None:
        with pytest.raises(
            RequestFailed, match=r"is running, so it can't step\. To step,"
        ) as failed:
            client.request("next", threadId=1)
        assert failed.value.response["body"]["error"]["showUser"] is True
        [breakpoint_] = client.set_breakpoints("/x.py", [1])
        assert breakpoint_["verified"] is False and "isn't debugged" in breakpoint_["message"]
        with pytest.raises(RequestFailed, match="doesn't support setVariable"):
            client.request("setVariable", variablesReference=1, name="step", value="8")

    with python(program(WAYS["read"])) as process:
        await shown(opened, process.pid, story)
        assert ends(process) == (0, "went on 7\n", "")


async def test_pause_after_continue_shows_the_current_stack(opened: Inspections) -> None:
    def story(client: DapClient) -> None:
        assert client.request("continue", threadId=1) == {"allThreadsContinued": True}
        assert "was never stopped" in output(client)
        client.request("pause", threadId=1)
        client.wait_for("stopped")
        assert client.variables(frame_named(client, "fit")["id"])["step"] == "7"

    with python(program(WAYS["read"])) as process:
        await shown(opened, process.pid, story)
        assert ends(process)[0] == 0


async def test_stop_of_a_pausable_worker_is_requested_from_the_editor(opened: Inspections) -> None:
    def story(client: DapClient) -> None:
        client.request("pause", threadId=1)
        client.wait_for("eagleray.pause")
        with pytest.raises(RequestFailed, match="select Pause in its row"):
            client.request("stepIn", threadId=1)

    with python(program(WAYS["read"])) as process:
        await shown(opened, process.pid, story, pausable=True)
        assert ends(process)[0] == 0


async def test_thread_that_waits_in_c_is_really_stopped_when_it_returns(
    opened: Inspections,
) -> None:
    def story(client: DapClient) -> None:
        with pytest.raises(RequestFailed, match="use Pause at Next Line"):
            client.request("next", threadId=1)
        client.request(STOP_REQUEST, threadId=1)
        client.wait_for("output", lambda body: "stops at its next line of" in body["output"])
        # Until then the virtual stop shows where it waits.
        assert client.evaluate("step", frame_named(client, "fit")["id"]) == "7"
        says(process)
        stopped = client.wait_for("stopped", is_real)["body"]
        assert (stopped["reason"], stopped["allThreadsStopped"]) == ("pause", False)
        line = client.stack(1)[0]["line"]
        client.request("next", threadId=1)
        assert client.wait_for("stopped")["body"]["reason"] == "step"
        frame = client.stack(1)[0]
        assert frame["line"] == line + 1
        assert client.variables(frame["id"])["first"] == "8"
        assert client.evaluate("first * 2", frame["id"]) == "16"
        client.request("stepIn", threadId=1)
        client.wait_for("stopped")
        assert client.stack(1)[0]["name"].endswith("double")
        client.request("stepOut", threadId=1)
        client.wait_for("stopped")
        assert client.stack(1)[0]["line"] == line + 2
        client.request("restart")
        assert client.wait_for("stopped", lambda body: body["reason"] == "pause")
        time.sleep(0.2)
        assert process.poll() is None

    way = "def double(x): return 2 * x\nsys.stdin.readline()\nfirst = step + 1\nsecond = double(first)\npass"
    with python(program(way)) as process:
        # The end of the session releases the thread.
        await shown(opened, process.pid, story)
        assert ends(process) == (0, "went on 7\n", "")


async def test_continue_ends_the_stop_and_pause_stops_again(opened: Inspections) -> None:
    def story(client: DapClient) -> None:
        client.request(STOP_REQUEST)
        client.wait_for("stopped", is_real)
        with pytest.raises(RequestFailed, match="Only thread MainThread is stopped"):
            client.request("next", threadId=2)
        for _ in range(2):
            client.request("continue", threadId=1)
            turns = client.evaluate("turns")
            wait_until(lambda: client.evaluate("turns") != turns)  # noqa: B023
            client.request("pause", threadId=1)
            client.wait_for("stopped", is_real)
            turns = client.evaluate("turns")
            time.sleep(0.1)
            assert client.evaluate("turns") == turns
        assert "Pause stops it again" in output(client)

    way = (
        "turns = 0\nother = threading.Thread(target=lambda: sys.stdin.readline())\nother.start()\n"
        "while other.is_alive(): turns += 1\nassert sys.gettrace() is None"
    )
    with python(program(way)) as process:
        await shown(opened, process.pid, story)
        assert ends(process) == (0, "went on 7\n", "")


async def test_process_that_releases_the_thread_is_shown_as_running(
    opened: Inspections, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversations, "LOCAL_CHECK_S", 0.05)

    def story(client: DapClient) -> None:
        client.request(STOP_REQUEST)
        client.wait_for("stopped", is_real)
        # Raises in the line where it is stopped, as it does without a debugger.
        process.send_signal(signal.SIGUSR1)
        client.wait_for("continued")
        assert "isn't stopped any more" in output(client)

    way = (
        "def handler(*_): raise ValueError\nsignal.signal(signal.SIGUSR1, handler)\n"
        "try:\n  while True: time.sleep(0.01)\nexcept ValueError: sys.stdin.readline()"
    )
    with python(program(way)) as process:
        await shown(opened, process.pid, story)
        assert ends(process) == (0, "went on 7\n", "")


async def test_stack_that_changes_is_shown_again_and_old_frames_say_so(
    opened: Inspections, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversations, "LOCAL_CHECK_S", 0.05)

    def story(client: DapClient) -> None:
        frame = frame_named(client, "first")
        process.stdin.write("\n")
        process.stdin.flush()
        client.wait_for("stopped")
        wait_until(lambda: client.stack(1)[0]["name"].endswith("second"))
        with pytest.raises(RequestFailed, match="This frame has returned"):
            client.request("scopes", frameId=frame["id"])

    way = "def first(): sys.stdin.readline()\ndef second(): sys.stdin.readline()\nfirst()\nsecond()"
    with python(program(way)) as process:
        await shown(opened, process.pid, story)
        assert ends(process)[0] == 0


async def test_worker_that_runs_is_shown_again_only_on_request(
    opened: Inspections, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversations, "LOCAL_CHECK_S", 0.05)

    def story(client: DapClient) -> None:
        client.wait_for("output", lambda body: "keeps changing" in body["output"])
        assert len(announced(client)) == 4
        client.request("restart")
        client.wait_for("stopped")
        assert frame_named(client, "fit")

    way = (
        "done = []\nthread = threading.Thread(target=lambda: done.append(sys.stdin.readline()))\n"
        "thread.start()\n\ndef step(): pass\nwhile not done:\n  step()\n  step()\nthread.join()"
    )
    with python(program(way)) as process:
        await shown(opened, process.pid, story)
        assert ends(process)[0] == 0


async def test_session_ends_with_its_process(
    opened: Inspections, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversations, "LOCAL_CHECK_S", 0.05)

    def story(client: DapClient) -> None:
        process.kill()
        client.wait_for("terminated")
        assert "The process has ended." in output(client)

    with python(program(WAYS["read"])) as process:
        await shown(opened, process.pid, story)


async def test_two_sessions_inspect_one_process_at_once(opened: Inspections) -> None:
    def first(client: DapClient) -> None:
        frame = frame_named(client, "fit")
        asyncio.run_coroutine_threadsafe(shown(opened, process.pid, second), loop).result()
        assert client.variables(frame["id"])["step"] == "7"

    def second(client: DapClient) -> None:
        assert client.evaluate("step") == "7"

    loop = asyncio.get_running_loop()
    with python(program(WAYS["read"])) as process:
        await shown(opened, process.pid, first)
        await asyncio.to_thread(wait_until, lambda: thread_count(process.pid) == 2)
        assert ends(process)[0] == 0


async def test_values_that_were_shown_leave_the_memory_of_the_program(opened: Inspections) -> None:
    def story(client: DapClient) -> None:
        frame = frame_named(client, "fit")
        assert "object" in client.variables(frame["id"])
        process.stdin.write("\n")
        process.stdin.flush()
        client.request("continue", threadId=1)

    way = (
        "import gc, weakref\nclass Large: pass\nobject = Large(); object.part = 1\n"
        "watched = weakref.ref(object)\nsys.stdin.readline()\n"
        "object = None\nend = time.monotonic() + 20\n"
        "while watched() and time.monotonic() < end: time.sleep(0.01)\n"
        "assert watched() is None, gc.get_referrers(watched())"
    )
    with python(program(way)) as process:
        await shown(opened, process.pid, story)
        assert ends(process) == (0, "went on 7\n", "")


async def test_process_that_keeps_the_gil_is_read_by_py_spy(
    opened: Inspections, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(injection, "OPENING_S", 0.5)

    def story(client: DapClient) -> None:
        frame = frame_named(client, "fit")
        assert client.variables(frame["id"])["step"] == "7"
        assert client.evaluate("step", frame["id"]) == "7"
        with pytest.raises(RequestFailed, match="native code holds the GIL"):
            client.evaluate("step + 1", frame["id"])
        scopes = client.request("scopes", frameId=frame["id"])["scopes"]
        assert [scope["name"] for scope in scopes] == ["Locals"]
        assert "Only py-spy can read" in output(client)

    with python(program(HELD)) as process:
        inspection = await shown(opened, process.pid, story)
        assert inspection.how == "py-spy" and "GIL" in inspection.why_outside
        assert ends(process) == (0, "went on 7\n", "")


async def test_file_without_a_local_copy_is_read_from_the_process(
    opened: Inspections, tmp_path: Path
) -> None:
    def story(client: DapClient) -> None:
        file.unlink()
        source = frame_named(client, "held")["source"]
        assert source["path"] == str(file)
        with pytest.raises(RequestFailed, match="FileNotFoundError"):
            client.request("source", sourceReference=source["sourceReference"], source=source)
        file.write_text(text)
        answer = client.request("source", sourceReference=source["sourceReference"], source=source)
        assert answer["content"] == text

    file = tmp_path / "held.py"
    text = "import sys\ndef held(): sys.stdin.readline()\n"
    file.write_text(text)
    way = f"sys.path.insert(0, {str(tmp_path)!r})\nimport held\nheld.held()"
    with python(program(way)) as process:
        await shown(opened, process.pid, story)
        assert ends(process)[0] == 0


async def test_stopped_process_gives_no_answer_and_answers_again(
    opened: Inspections, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eagleray.remote.inspecting.inspected_process.ANSWER_S", 0.5)

    def story(client: DapClient) -> None:
        process.send_signal(signal.SIGSTOP)
        wait_until(lambda: states_of_threads(process.pid) == {"T"})
        with pytest.raises(RequestFailed, match="gave no answer in time"):
            client.evaluate("step")
        monkeypatch.undo()
        process.send_signal(signal.SIGCONT)
        assert client.evaluate("step") == "7"

    with python(program(WAYS["read"])) as process:
        await shown(opened, process.pid, story)
        assert ends(process)[0] == 0


async def test_socket_without_a_client_is_closed(
    opened: Inspections, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspections, "UNCONNECTED_S", 0.05)
    with python(program(WAYS["read"])) as process:
        inspection = await open_(opened, process.pid)
        assert Path(inspection.socket).stat().st_mode & 0o777 == 0o600
        while Path(inspection.socket).exists():
            await asyncio.sleep(0.02)
        assert ends(process)[0] == 0


async def test_value_of_a_running_process_is_described_without_its_code(
    opened: Inspections,
) -> None:
    def story(client: DapClient) -> None:
        frame = frame_named(client, "fit")["id"]
        record = client.request("eagleray.view", frameId=frame, expression="step")
        assert (record["type"], record["text"]) == ("int", "7")
        texts = client.request("eagleray.view", frameId=frame, names=["step", "none"])
        assert texts["texts"] == {"step": "7"}
        refused = client.request("eagleray.view", frameId=frame, expression="(lambda: 1)()")
        assert refused["refused"]
        forced = client.request("eagleray.view", frameId=frame, expression="1", allow_all=True)
        assert forced["error"].startswith("Only a stopped worker runs code")

    with python(program(WAYS["lock"])) as process:
        await shown(opened, process.pid, story)
        assert ends(process) == (0, "went on 7\n", "")
