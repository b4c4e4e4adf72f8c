"""The moment at which a driver has joined a cluster, and the file by which one without a debug proxy tells of it."""

from __future__ import annotations

import json
import os

from .. import process_file, ray_worker
from ..guard import never_raise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..settings import RunSettings


def after_joining(module: Any, then: Callable[[], object]) -> None:
    """Calls `then` whenever this process has connected to Ray; `module` is Ray's own for that."""
    before = module.connect

    def connect(*args: Any, **kwargs: Any) -> Any:
        result = before(*args, **kwargs)
        never_raise(then)()
        return result

    module.connect = connect


def tell_cluster(settings: RunSettings) -> None:
    """Writes into the run's folder which cluster this driver has joined, so that the supervisor finds its workers."""
    if not (settings.folder and os.path.isdir(settings.folder)):
        return
    file = os.path.join(settings.folder, process_file.name("driver"))
    with open(os.open(f"{file}.part", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as part:
        json.dump(ray_worker.facts(), part)
    os.replace(f"{file}.part", file)
