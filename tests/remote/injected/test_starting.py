"""Processes of a run are classified by their commands."""

from __future__ import annotations

import pytest
from eagleray.remote.injected import starting

WORKER = "/env/lib/python3.11/site-packages/ray/_private/workers/default_worker.py"


@pytest.mark.parametrize(
    ("words", "environ", "kind"),
    [
        (["python", "train.py"], {}, "driver"),
        (["python", "-m", "verl.trainer.main_ppo"], {}, "driver"),
        (["python", "train.py", WORKER], {}, "driver"),
        (["python", "-u", WORKER, "--worker-type=WORKER"], {}, "worker"),
        (["python", WORKER, "--node-ip-address=1.2.3.4"], {}, "worker"),
        (["python", WORKER, "--worker-type=SPILL_WORKER"], {}, "service"),
        (["python", "/env/ray/_private/workers/setup_worker.py", WORKER], {}, "service"),
        (["python", "-u", "/env/ray/dashboard/agent.py"], {}, "service"),
        (["python", "/env/debugpy/adapter", "--for-server"], {}, "service"),
        (["python", "-c", "from multiprocessing.resource_tracker import main"], {}, "service"),
        (["python", "-c", "from multiprocessing.spawn import spawn_main", "--multiprocessing-fork"], {}, "child"),
        (["python", "helper.py"], {"EAGLERAY_RUN_INSIDE": "worker"}, "child"),
        (["python", WORKER], {"EAGLERAY_RUN_INSIDE": "worker"}, "worker"),
        (["python", "second.py"], {"EAGLERAY_RUN_INSIDE": "selected"}, "driver"),
        (["python", "-u", "/env/debugpy/_vendored/pydevd/pydevd.py", "--file", "a.py"], {"EAGLERAY_RUN_INSIDE": "selected"}, "attached"),
        (["python", "-X", "dev", "-W", "error", "-c", "import sys; import pydevd; pydevd.config(''); "], {"EAGLERAY_RUN_INSIDE": "selected"}, "attached"),
        (["python", "/opt/pycharm/pydevd/pydevd.py", "--file", "a.py"], {}, "driver"),
        ([], {}, "driver"),
    ],
)  # fmt: skip
def test_process_is_classified_by_its_command(
    words: list[str], environ: dict[str, str], kind: str
) -> None:
    assert starting.kind_of(words, environ) == kind


@pytest.mark.parametrize(
    ("environ", "recorded"),
    [
        ({}, "2000"),
        ({"TORCH_FR_BUFFER_SIZE": "0"}, "0"),
        ({"TORCH_NCCL_TRACE_BUFFER_SIZE": "10"}, None),
    ],
)
def test_flight_recorder_is_on_unless_the_user_has_set_its_size(
    environ: dict[str, str], recorded: str | None
) -> None:
    starting.record_collectives(environ)
    assert environ.get("TORCH_FR_BUFFER_SIZE") == recorded
