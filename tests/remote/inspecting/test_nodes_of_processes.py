"""The node of a process that is to be inspected, by what lists and pictures call it; a PID alone may be on several."""

from __future__ import annotations

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.observe.look_inside.inspections import Inspections, _node_of
from eagleray.observe.look_inside.model import InspectionTarget
from eagleray.ray.rows import NodeRow

from tests.debug.workers.fakes import CLUSTER, FakeDashboard
from tests.debug.workers.rows import worker_row


@pytest.fixture
def dashboard() -> FakeDashboard:
    made = FakeDashboard()
    made.node_rows = [
        NodeRow("aaaaaa1", "10.0.0.1", "head", alive=True, head=True),
        NodeRow("bbbbbb2", "10.0.0.1", "", alive=True, head=False),
        NodeRow("cccccc3", "10.0.0.3", "c", alive=False, head=False),
    ]
    made.workers = [
        worker_row("w1", pid=7, node_id="aaaaaa1"),
        worker_row("w2", pid=7, node_id="bbbbbb2"),
        worker_row("w3", pid=8, node_id="bbbbbb2"),
        worker_row("w4", pid=9, node_id="cccccc3"),
    ]
    return made


@pytest.mark.parametrize(
    ("target", "node"),
    [
        (InspectionTarget(1, CLUSTER, "bbbbbb2"), "bbbbbb2"),
        (InspectionTarget(1, CLUSTER, "head"), "aaaaaa1"),
        (InspectionTarget(1, CLUSTER, "10.0.0.1 bbbbbb"), "bbbbbb2"),
        (InspectionTarget(7, CLUSTER, worker_id="w2"), "bbbbbb2"),
        (InspectionTarget(8, CLUSTER), "bbbbbb2"),
    ],
)
async def test_node_is_named_by_id_name_picture_worker_or_pid(
    dashboard: FakeDashboard, target: InspectionTarget, node: str
) -> None:
    assert (await _node_of(dashboard, dashboard.node_rows, target)).node_id == node


@pytest.mark.parametrize(
    "target",
    [
        InspectionTarget(7, CLUSTER),
        InspectionTarget(7, CLUSTER, "10.0.0.1"),
        InspectionTarget(9, CLUSTER, worker_id="w4"),
        InspectionTarget(1, CLUSTER),
    ],
)
async def test_process_on_no_node_or_on_several_is_rejected(
    dashboard: FakeDashboard, target: InspectionTarget
) -> None:
    with pytest.raises(EaglerayError, match="No worker is called"):
        await _node_of(dashboard, dashboard.node_rows, target)


async def test_process_of_another_machine_without_a_cluster_is_not_taken_for_one_of_this() -> None:
    opened = Inspections(None, lambda _: None)  # type: ignore[arg-type,return-value]
    with pytest.raises(EaglerayError, match="runs on node7"):
        await opened.process(InspectionTarget(1, node_id="node7"), lambda text: None)
