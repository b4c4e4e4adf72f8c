"""The debugger that Ray 2.9.1 opens at breakpoint() by default: it names neither worker nor node."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.ray_cluster import PROGRAMS, RayCluster, temporary_home, wait_for
from tests.real_ray.command import Command, Row, line_of
from tests.real_ray.test_legacy_pdb import talk

pytestmark = [pytest.mark.old_ray, pytest.mark.cluster("old")]

LEGACY = PROGRAMS / "cases" / "legacy.py"


@pytest.fixture(scope="module")
def eagleray(cluster: RayCluster) -> Iterator[Command]:
    with temporary_home() as home:
        yield Command(cluster.eagleray_env(home))


def test_two_at_once_are_opened_by_key(cluster: RayCluster, eagleray: Command) -> None:
    program = cluster.run(LEGACY, "first", "second")

    def found() -> dict[str, Row]:
        listed = {row["name"]: row for row in eagleray.json("pdb")}
        return listed if len(listed) == 2 and all(row["pid"] for row in listed.values()) else {}

    try:
        rows = wait_for("the pdb sessions", found)
        assert rows["first"]["line"] == line_of(LEGACY, "first")
        assert rows["Second.add"]["line"] == line_of(LEGACY, "second")
        shown, _ = talk(eagleray, rows["Second.add"]["id"], "p total")
        assert "add()" in shown
        assert "(Pdb) 42\n" in shown
        shown, _ = talk(eagleray, rows["first"]["id"], "p doubled")
        assert "first()" in shown
        program.wait_output("second: 42")
    finally:
        program.end()
