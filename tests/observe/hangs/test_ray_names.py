"""Names and numbers of actors: those that tell them apart, whatever a cluster lists."""

from eagleray.observe.hangs.ray_names import hosts_of, names_of_nodes
from eagleray.ray.rows import ActorRow, NodeRow, RuntimeEnv, WorkerRow
from eagleray.remote.sampling.processes import ACTOR, DRIVER, Named

NODES = [
    NodeRow("aaaaaaaa", "10.0.0.1", "a", True, True),
    NodeRow("bb", "10.0.0.2", "b", True, False),
]


def actor(name: str, node: str, pid: int, class_name: str = "Trainer", job: str = "01") -> ActorRow:
    return ActorRow(
        f"{node}{pid}", class_name, name, "", "ALIVE", job, node, pid, 0, "", RuntimeEnv()
    )


def driver(node: str, pid: int) -> WorkerRow:
    return WorkerRow(f"01000000{'f' * 48}", "driver", node, "", pid, 0, 0, 0)


def test_actors_are_numbered_by_the_ends_of_their_names() -> None:
    actors = [actor("trainer-1", "aaaaaaaa", 11), actor("trainer-0", "bb", 12)]
    names = names_of_nodes(NODES, actors, [])
    assert names["aaaaaaaa"].named == {11: Named(ACTOR, "Trainer", 1, "trainer-1")}
    assert names["bb"].named == {12: Named(ACTOR, "Trainer", 0, "trainer-0")}


def test_actors_without_telling_names_are_numbered_by_host_and_pid() -> None:
    # verl names its workers Class_{node}:{local rank}.
    actors = [actor("W_1:0", "bb", 5), actor("W_0:0", "aaaaaaaa", 9), actor("", "aaaaaaaa", 7)]
    names = names_of_nodes(NODES, actors, [])
    numbers = {pid: named.number for node in names.values() for pid, named in node.named.items()}
    assert numbers == {7: 0, 9: 1, 5: 2}


def test_classes_of_two_jobs_are_two_groups() -> None:
    actors = [actor("", "bb", 5, job="01"), actor("", "bb", 6, job="02")]
    groups = {named.group for named in names_of_nodes(NODES, actors, [])["bb"].named.values()}
    assert groups == {"Trainer of job 01", "Trainer of job 02"}


def test_drivers_are_listed_with_their_node() -> None:
    names = names_of_nodes(NODES, [], [driver("bb", 3)])
    assert names["bb"].drivers == (3,)
    assert names["bb"].named == {3: Named(DRIVER, DRIVER, 0, DRIVER)}
    assert names["aaaaaaaa"].drivers == ()


def test_actors_of_ray_itself_have_no_name() -> None:
    actors = [actor("", "bb", 5, "JobSupervisor"), actor("", "bb", 6, "EaglerayNodeSampler")]
    assert names_of_nodes(NODES, actors, [])["bb"].named == {}


def test_nodes_of_one_address_are_told_apart_and_dead_ones_left_out() -> None:
    again = NodeRow("cccccccc", "10.0.0.1", "c", True, False)
    dead = NodeRow("dd", "10.0.0.1", "d", False, False)
    assert hosts_of([*NODES, again, dead]) == {
        "aaaaaaaa": "10.0.0.1 aaaaaa",
        "bb": "10.0.0.2",
        "cccccccc": "10.0.0.1 cccccc",
    }
