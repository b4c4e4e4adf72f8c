"""Cycles of `ray.get`: proved from the tasks that Ray 2.60 listed for two actors that call each other."""

from eagleray.features.hangs.task_graph import TaskRow, cycle, without_node

CALL = TaskRow("t1", "A.call", "RUNNING", "driver", "a")
BACK = TaskRow("t2", "B.back", "RUNNING", "t1", "b")
QUEUED = TaskRow("t3", "A.back", "SUBMITTED_TO_WORKER", "t2", "a")


def test_cycle_of_two_actors_is_found_in_any_order() -> None:
    for tasks in ([CALL, BACK, QUEUED], [QUEUED, BACK, CALL]):
        assert [call.called.name for call in cycle(tasks, ["a", "b"])] == ["B.back", "A.back"]


def test_actor_that_does_not_wait_breaks_the_cycle() -> None:
    assert cycle([CALL, BACK, QUEUED], ["a"]) == ()


def test_chain_without_a_way_back_is_no_cycle() -> None:
    assert cycle([CALL, BACK], ["a", "b"]) == ()


def test_queue_that_has_nothing_to_do_with_the_callers_is_no_cycle() -> None:
    other = TaskRow("t9", "A.back", "SUBMITTED_TO_WORKER", "driver", "a")
    assert cycle([CALL, BACK, other], ["a", "b"]) == ()


def test_actor_that_calls_itself_is_a_cycle_of_one() -> None:
    own = TaskRow("t2", "A.back", "SUBMITTED_TO_WORKER", "t1", "a")
    assert [call.called.name for call in cycle([CALL, own], ["a"])] == ["A.back"]


def test_task_that_no_node_can_take_names_its_caller() -> None:
    pending = TaskRow("t2", "train", "PENDING_NODE_ASSIGNMENT", "t1", "")
    [call] = without_node([CALL, pending])
    assert (call.caller.name, call.called.name) == ("A.call", "train")
