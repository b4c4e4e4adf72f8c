"""`ray job submit` within a run: the driver of the job belongs to the run as well."""

from __future__ import annotations

from ..guard import never_raise
from .runtime_env import extended

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from ..settings import RunSettings


def extend_submissions(module: ModuleType, settings: RunSettings) -> None:
    """Extends the client by which jobs are submitted, on the command line too."""
    kind = module.JobSubmissionClient
    before = kind.submit_job

    def submit_job(client: Any, **arguments: Any) -> Any:
        chosen = never_raise(extended)(arguments.get("runtime_env"), settings)
        return before(client, **({**arguments, "runtime_env": chosen} if chosen else arguments))

    kind.submit_job = submit_job
