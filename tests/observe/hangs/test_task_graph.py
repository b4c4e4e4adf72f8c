"""Cycles of `ray.get`: proved from the tasks that Ray 2.60 listed for two actors that call each other."""

from attrs import evolve
from eagleray.observe.hangs.task_graph import OpenTask, cycle, waits, without_node

LEFT, RIGHT = ("10.0.0.1", 11), ("10.0.0.1", 12)
CALL = OpenTask("t1", "A.call", "RUNNING", "driver", "a", process=LEFT)
BACK = OpenTask("t2", "B.back", "RUNNING", "t1", "b", process=RIGHT)
QUEUED = OpenTask("t3", "A.back", "SUBMITTED_TO_WORKER", "t2", "a")
BOTH = [LEFT, RIGHT]


def test_cycle_of_two_actors_begins_with_the_call_from_outside_in_any_order() -> None:
    for tasks in ([CALL, BACK, QUEUED], [QUEUED, BACK, CALL]):
        assert [call.called.name for call in cycle(tasks, BOTH)] == ["B.back", "A.back"]


def test_actor_that_does_not_wait_breaks_the_cycle() -> None:
    assert cycle([CALL, BACK, QUEUED], [LEFT]) == ()


def test_chain_without_a_way_back_is_not_a_cycle() -> None:
    assert cycle([CALL, BACK], BOTH) == ()


def test_queue_that_has_nothing_to_do_with_the_callers_is_not_a_cycle() -> None:
    other = OpenTask("t9", "A.back", "SUBMITTED_TO_WORKER", "driver", "a")
    assert cycle([CALL, BACK, other], BOTH) == ()


def test_actor_that_runs_several_calls_at_once_takes_the_call_back() -> None:
    running = OpenTask("t3", "A.back", "RUNNING", "t2", "a", process=LEFT)
    assert cycle([CALL, BACK, running], BOTH) == ()


def test_actor_that_calls_itself_is_a_cycle_of_one() -> None:
    own = OpenTask("t2", "A.back", "SUBMITTED_TO_WORKER", "t1", "a")
    assert [call.called.name for call in cycle([CALL, own], [LEFT])] == ["A.back"]


def test_task_that_no_node_can_take_names_its_caller() -> None:
    pending = OpenTask("t2", "train", "PENDING_NODE_ASSIGNMENT", "t1", "")
    [call] = without_node([CALL, pending], [LEFT])
    assert (call.caller.name, call.called.name) == ("A.call", "train")


def test_caller_that_continues_does_not_wait_for_a_node() -> None:
    pending = OpenTask("t2", "train", "PENDING_NODE_ASSIGNMENT", "t1", "")
    assert without_node([CALL, pending], [RIGHT]) == []


def test_call_of_an_async_actor_names_its_constructor_as_the_caller() -> None:
    """As Ray 2.60 listed it for a method that blocks its event loop in `ray.get`; the constructor has ended."""
    fit = OpenTask("t1", "Rollouter.fit", "RUNNING", "driver", "a1", process=LEFT)
    get = OpenTask("t2", "Queue.get", "RUNNING", "f" * 16 + "a1", "b1", process=RIGHT)
    [call] = waits([fit, get], [LEFT])
    assert (call.caller.name, call.called.name) == ("Rollouter.fit", "Queue.get")


def test_method_does_not_wait_for_a_node_while_its_actor_is_made() -> None:
    make = OpenTask("t0", "A.__init__", "RUNNING", "driver", "a", is_constructor=True)
    step = OpenTask("t2", "A.step", "PENDING_NODE_ASSIGNMENT", "t1", "a")
    caller = OpenTask("t1", "train", "RUNNING", "driver", "", process=LEFT)
    assert without_node([make, step, caller], [LEFT]) == []
    # Behind a method whose arguments are not there: the actor has its room.
    assert without_node([step, caller], [LEFT]) == []
    pending = evolve(make, state="PENDING_NODE_ASSIGNMENT")
    [call] = without_node([pending, step, caller], [LEFT])
    assert call.called.name == "A.step"


def test_task_that_has_changed_during_the_samples_proves_nothing() -> None:
    assert cycle([CALL, BACK, evolve(QUEUED, is_steady=False)], BOTH) == ()
