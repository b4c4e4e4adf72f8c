"""Merged stacks: the same result however nodes share the work, and a tree that forks where ranks do."""

import pytest
from eagleray.remote.sampling.frames import PythonFrame, is_users, merging_key
from eagleray.remote.sampling.merging import (
    Member,
    MergedStack,
    ThreadStack,
    TreeNode,
    count,
    merged,
    tree,
    united,
)
from eagleray.remote.sampling.rank_sets import RankSet
from hypothesis import given
from hypothesis import strategies as st

frames = st.builds(
    PythonFrame, st.sampled_from("abcd"), st.sampled_from(["x.py", "y.py"]), st.integers(1, 3)
)
stacks = st.builds(
    ThreadStack, st.sampled_from(["MainThread", "loop"]), st.lists(frames, max_size=5).map(tuple)
)
samples = st.lists(
    st.tuples(
        st.builds(Member, st.sampled_from(["policy", "rollout"]), st.integers(0, 20)), stacks
    ),
    max_size=30,
)


@given(samples, st.randoms(), st.integers(1, 5))
def test_tables_of_nodes_unite_to_the_table_of_all(taken, random, nodes: int) -> None:
    shuffled = list(taken)
    random.shuffle(shuffled)
    parts = [merged(shuffled[node::nodes]) for node in range(nodes)]
    random.shuffle(parts)
    assert united(parts) == merged(taken)


@given(samples)
def test_tree_holds_each_stack_as_a_path(taken) -> None:
    table = merged(taken)
    paths = list(_paths(tree(table), ()))
    for entry in table:
        if entry.stack.frames:
            assert any(path[: len(entry.stack.frames)] == entry.stack.frames for path in paths)
    stacks_of_table = {entry.stack.frames for entry in table}
    assert all(any(stack[: len(path)] == path for stack in stacks_of_table) for path in paths)


@given(samples)
def test_children_have_the_ranks_of_their_parent(taken) -> None:
    for node in _nodes(tree(merged(taken))):
        for child in node.children:
            for group, ranks in child.members.items():
                assert not ranks.without(node.members[group])


def test_tree_forks_where_ranks_differ_and_folds_the_rest() -> None:
    def stack(*functions: str) -> ThreadStack:
        return ThreadStack(
            "MainThread", tuple(PythonFrame(name, "trainer.py", 1) for name in functions)
        )

    table = merged(
        [
            (Member("policy", 0), stack("main", "fit", "step", "all_reduce")),
            (Member("policy", 2), stack("main", "fit", "step", "all_reduce")),
            (Member("policy", 1), stack("main", "fit", "step", "all_gather")),
        ]
    )
    [root] = tree(table)
    assert [frame.function for frame in root.frames] == ["main", "fit", "step"]
    assert [
        (child.frames[0].function, str(child.members["policy"])) for child in root.children
    ] == [
        ("all_reduce", "0,2"),
        ("all_gather", "1"),
    ]


def test_one_process_with_two_threads_counts_once_in_a_shared_frame() -> None:
    shared = PythonFrame("run", "a.py", 1)
    table = merged(
        [
            (Member("policy", 0), ThreadStack("MainThread", (shared, PythonFrame("x", "a.py", 2)))),
            (Member("policy", 0), ThreadStack("loop", (shared, PythonFrame("y", "a.py", 3)))),
        ]
    )
    [root] = tree(table)
    assert count(root.members) == 1


def test_stacks_of_a_recursion_at_all_depths_are_one_deep_branch() -> None:
    depth = 3000
    frames = tuple(PythonFrame("walk", "tree.py", line) for line in range(depth))
    table = merged(
        (Member("policy", rank), ThreadStack("MainThread", frames[: rank + 1]))
        for rank in range(0, depth, 5)
    )
    [node] = tree(table)
    nodes = 1
    while node.children:
        [node] = node.children
        nodes += 1
    assert nodes == len(table)
    assert {group: str(ranks) for group, ranks in node.members.items()} == {"policy": "2995"}


def test_entry_says_which_ranks_have_a_stack() -> None:
    stack = ThreadStack("MainThread", (PythonFrame("f", "a.py", 1),))
    assert merged((Member("policy", rank), stack) for rank in (2, 0, 1)) == [
        MergedStack(stack, {"policy": RankSet(((0, 2),))})
    ]


def _nodes(nodes: list[TreeNode]):
    for node in nodes:
        yield node
        yield from _nodes(node.children)


def _paths(nodes: list[TreeNode], before: tuple[PythonFrame, ...]):
    for node in nodes:
        path = (*before, *node.frames)
        if not node.children:
            yield path
        yield from _paths(node.children, path)


@pytest.mark.parametrize(
    ("file", "is_own"),
    [
        ("/tmp/ray/session_1/runtime_resources/working_dir_files/_ray_pkg_1/train.py", True),
        ("/home/me/ray/train.py", True),
        ("/home/me/torch/multiprocessing/queues.py", True),
        ("/v/lib/python3.11/site-packages/ray/_private/worker.py", False),
        (
            "/tmp/ray/session_1/runtime_resources/pip/1/virtualenv/lib/python3.11/site-packages/x.py",
            False,
        ),
        ("/usr/local/lib/python3.10/dist-packages/torch/nn/modules/module.py", False),
        ("/opt/pytorch/torch/distributed/distributed_c10d.py", False),
        ("/src/ray/python/ray/actor.py", False),
        ("/usr/lib/python3.11/threading.py", False),
        ("/opt/py/lib/python3.13t/asyncio/base_events.py", False),
        ("/usr/lib/python311.zip/asyncio/queues.py", False),
        ("/opt/deps/torch/nn/modules/module.py", False),
        ("/opt/pytorch-2.6/torch/_ops.py", False),
    ],
)
def test_project_may_lie_in_a_folder_named_like_a_package(file: str, is_own: bool) -> None:
    """As each `working_dir` does that Ray unpacks below /tmp/ray."""
    frame = PythonFrame("train", file, 7)
    assert is_users(frame) is is_own
    assert (merging_key(frame) == frame) is (is_own or file.endswith("x.py"))
