"""Which ranks are a world: told by the address at which they meet, and not by the names of their programs."""

from __future__ import annotations

import pytest
from eagleray.observe.hangs.worlds import with_worlds
from eagleray.remote.sampling.processes import ACTOR, RANK, Described

ADDRESS, OTHER = "10.0.0.1:29500", "10.0.0.2:29500"


def rank(number: int, name: str = "train.py", address: str = ADDRESS, size: int = 4) -> Described:
    return Described(100 + number, 1, RANK, name, number, name, size, address)


def groups(*placed: tuple[str, Described]) -> list[str]:
    return [each.group for each in with_worlds(placed)]


def test_ranks_that_meet_are_a_world_whatever_their_programs_are() -> None:
    named = groups(("a", rank(1, "learner.py")), ("b", rank(0, "actor.py")))
    assert named == ["actor.py, learner.py"] * 2


def test_title_of_many_programs_is_short() -> None:
    named = groups(*(("a", rank(number, f"part{number}.py")) for number in range(4)))
    assert named == ["part0.py, part1.py, …"] * 4


def test_worker_groups_with_addresses_of_their_own_keep_their_names() -> None:
    named = groups(("a", rank(0, "policy")), ("a", rank(0, "critic", OTHER)))
    assert named == ["policy", "critic"]


@pytest.mark.parametrize("suffix", ["", f" ({OTHER})"])
def test_two_jobs_of_a_program_are_worlds_with_different_titles(suffix: str) -> None:
    """The node adds an address to the names where both worlds have ranks on it."""
    here = rank(1, "train.py" + (f" ({ADDRESS})" if suffix else ""))
    there = rank(1, f"train.py{suffix}", OTHER)
    named = groups(("a", rank(0)), ("b", here), ("b", there), ("c", rank(0, address=OTHER)))
    assert named == [f"train.py ({each})" for each in (ADDRESS, ADDRESS, OTHER, OTHER)]


def test_localhost_of_two_nodes_is_two_worlds() -> None:
    local = [rank(number, address="localhost:29500", size=2) for number in range(2)]
    named = groups(*((host, each) for host in "ab" for each in local))
    assert named == [f"train.py (localhost:29500) {host}" for host in "ab" for _ in local]


def test_rank_that_calls_its_node_localhost_belongs_to_the_others() -> None:
    named = groups(("a", rank(0, address="localhost:29500", size=2)), ("b", rank(1, size=2)))
    assert len(set(named)) == 1


def test_rank_with_another_port_belongs_to_those_that_are_all_but_it() -> None:
    others = [("a", rank(number)) for number in range(3)]
    apart = rank(3, address="10.0.0.1:29501")
    assert len(set(groups(*others, ("b", apart)))) == 1
    # Each of two jobs lacks ranks.
    assert len(set(groups(*others[:2], ("b", apart)))) == 2


def test_another_program_in_the_same_environment_is_a_world_of_its_own() -> None:
    trainers = [("a", rank(number)) for number in range(2)]
    monitors = [("a", rank(number, "monitor.py")) for number in range(2)]
    assert groups(*trainers, *monitors) == ["train.py", "train.py", "monitor.py", "monitor.py"]


def test_non_ranks_and_ranks_without_address_keep_their_groups() -> None:
    actor = Described(7, 1, ACTOR, "Rollout", 0, "Rollout")
    alone = [rank(0, "a.py", ""), rank(0, "b.py", "")]
    assert groups(("a", actor), *(("a", each) for each in alone)) == ["Rollout", "a.py", "b.py"]
