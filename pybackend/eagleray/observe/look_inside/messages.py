"""The requests of the feature `inspections` and their records, printed as `extension/observe/look_inside/messages.ts`."""

from __future__ import annotations

from attrs import frozen

from eagleray.observe.look_inside.model import InspectionTarget, OpenedInspection
from eagleray.wire.requests import LongRequest


@frozen
class OpenInspection:
    """Begins to inspect a process; sources are looked for in `workspace_folders`."""

    target: InspectionTarget
    workspace_folders: list[str]


OPEN = LongRequest("eagleray/inspections/open", OpenInspection, OpenedInspection)
