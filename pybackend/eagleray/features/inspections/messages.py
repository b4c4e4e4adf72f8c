"""The requests of the feature `inspections` and their records, printed as `extension/features/inspections/messages.ts`."""

from __future__ import annotations

from attrs import frozen

from eagleray.features.inspections.model import InspectionTarget, OpenedInspection
from eagleray.wire.requests import LongRequest


@frozen
class OpenInspection:
    """Begins to inspect a process; sources are looked for in `workspace_folders`."""

    target: InspectionTarget
    workspace_folders: list[str]


OPEN = LongRequest("eagleray/inspections/open", OpenInspection, OpenedInspection)
