"""Why a cluster may look empty."""

from __future__ import annotations

import pytest
from eagleray.clusters.empty_list_reason import Evidence, diagnose
from eagleray.tools.worker_processes import WorkerEnvironment

NO_DEBUGPY = "ERROR: Module 'debugpy>=1.8.0' cannot be loaded. Ray Debugpy Debugger will not work without 'debugpy>=1.8.0' installed."
LEGACY = "RemotePdb session open at localhost:46821, use 'ray debug' to connect..."


def environment(
    has_debugpy: bool = True, ray_debug: str | None = None, folder: str = "/venv"
) -> WorkerEnvironment:
    return WorkerEnvironment(folder, has_debugpy, ray_debug)


# evidence -> codes
RULES = [
    (Evidence("2.60.0"), []),
    (Evidence("2.60.0", (environment(), environment(ray_debug="1"))), []),
    (Evidence("2.60.0", (environment(has_debugpy=False),)), ["no-debugpy"]),
    (Evidence("2.60.0", logs=("fine", NO_DEBUGPY)), ["no-debugpy"]),
    (Evidence("2.60.0", (environment(ray_debug="legacy"),)), ["legacy-debugger"]),
    (Evidence("2.60.0", settings=({}, {"RAY_DEBUG": "legacy"})), ["legacy-debugger"]),
    (Evidence("2.60.0", logs=(LEGACY,)), ["legacy-debugger"]),
    (Evidence("2.60.0", settings=({"RAY_DEBUG": "0"},)), ["debugger-off"]),
    (Evidence("2.60.0", (environment(False, "legacy"),)), ["legacy-debugger", "no-debugpy"]),
    (Evidence("2.9.1"), []),
    (Evidence("2.9.1", (environment(),)), ["legacy-debugger"]),
    (Evidence("2.9.1", (environment(ray_debug="1"),)), []),
    (Evidence("2.38.0", logs=(LEGACY,)), ["legacy-debugger"]),
    (Evidence("2.39.0", (environment(),)), []),
    (Evidence("2.6.3"), ["ray-too-old"]),
    (Evidence("nightly"), []),
    (Evidence(""), []),
]


@pytest.mark.parametrize(("evidence", "codes"), RULES)
def test_evidence_leads_to_the_problems_of_the_table(evidence: Evidence, codes: list[str]) -> None:
    found = diagnose(evidence)
    assert [problem.code for problem in found] == codes
    assert all(problem.message and problem.next_step for problem in found)


def test_environment_is_named_once_with_its_workers() -> None:
    lacking = [environment(False, folder="/venv/a/site-packages")] * 3
    found = diagnose(Evidence("2.60.0", (*lacking, environment(False, folder="/venv/b"))))
    assert [problem.code for problem in found] == ["no-debugpy", "no-debugpy"]
    assert "3 workers" in found[0].message
    assert "/venv/a/site-packages" in found[0].next_step
    assert "1 worker," in found[1].message


def test_texts_of_a_cluster_are_printable() -> None:
    (problem,) = diagnose(Evidence("2.60.0", settings=({"RAY_DEBUG": "\x1b[31m\nred"},)))
    assert problem.message.isprintable()
