"""The verdict names what grows, leaves out the warm-up, and bounds logs."""

from __future__ import annotations

from collections.abc import Callable

from tests.soak.sampling import Sample
from tests.soak.verdict import LOG_BYTES, LONG_WARM_UP, THREADS, rows, table


def verdicts(**values: Callable[[int], float]) -> dict[str, str]:
    """Returns the verdicts of an hour with sixty samples; the adapter is another one in its second half."""
    samples = [
        Sample(
            at / 60,
            at,
            {"sidecar": "1", "adapter": "2" if at < 30 else "3"},
            {name.replace("_", " "): value(at) for name, value in values.items()},
            {},
        )
        for at in range(60)
    ]
    found = rows(samples)
    assert len(table(found).splitlines()) == len(values) + 1
    return {row.name: row.verdict for row in found}


def test_growth_is_named() -> None:
    found = verdicts(
        sidecar_fds=lambda at: 12 + at // 3,
        sidecar_tasks=lambda at: 14 + at % 2,
        adapter_objects=lambda at: 20_000 + 30 * (at % 30),
        adapter_fds=lambda at: 9,
    )
    assert found == {
        "sidecar fds": "grows",
        "sidecar tasks": "level",
        "adapter objects": "grows",
        "adapter fds": "level",
    }


def test_growth_until_runs_are_thrown_away_is_not_growth() -> None:
    found = verdicts(files_in_home=lambda at: 10 * min(at, LONG_WARM_UP))
    assert found == {"files in home": "level"}


def test_the_threads_of_a_pool_are_bounded() -> None:
    found = verdicts(sidecar_threads=lambda at: min(4 + at // 10, THREADS))
    assert found == {"sidecar threads": "bounded"}
    assert verdicts(sidecar_threads=lambda at: at) == {"sidecar threads": "too large"}


def test_logs_are_bounded() -> None:
    found = verdicts(log_bytes=lambda at: 1000 * at)
    assert found == {"log bytes": "bounded"}
    assert verdicts(log_bytes=lambda at: LOG_BYTES * at) == {"log bytes": "too large"}


def test_a_metric_that_is_never_sampled_fails() -> None:
    early = Sample(0.0, 0, {}, {"sidecar tasks": 1.0}, {})
    (row,) = rows([early])
    assert (row.passed, row.verdict) == (False, "not measured")
