"""Fixtures of the lab: one site for all, and what runs in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.adapter import LabAdapter, adapter_on
from tests.lab.eagleray import Eagleray, eagleray_on
from tests.lab.hosts import RAY_NODES
from tests.lab.ray import LabRay, start_ray
from tests.lab.site import NoSite, Site
from tests.lab.slurm import Job, submitted

HERE = Path(__file__).parent
WITH_RAY = {"ray_site", "slurm_job"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever asks for the site belongs to the suites “lab”, or “lab Ray” if Ray is to run in it."""
    for item in items:
        asked = set(getattr(item, "fixturenames", ()))
        if "site" in asked and item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.lab_ray if asked & WITH_RAY else pytest.mark.lab)
    # All tests share the job: the one that ends it comes last.
    items.sort(key=lambda item: item.get_closest_marker("ends_job") is not None)


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    """The miniature site; where it cannot be, the reason is told in place of every result."""
    started = Site()
    try:
        started.start()
    except NoSite as error:
        pytest.skip(f"no lab: {error}")
    yield started
    started.end()


@pytest.fixture(scope="session")
def ray_site(site: Site) -> Iterator[LabRay]:
    """Ray on three nodes; each test ends its own drivers."""
    with start_ray(site, RAY_NODES) as ray:
        yield ray


@pytest.fixture(scope="session")
def slurm_job(site: Site) -> Iterator[Job]:
    """A running job with Ray in it, whose head is not its first node."""
    with submitted(site) as job:
        job.wait_ray()
        yield job


@pytest.fixture(scope="session")
def short_job(site: Site) -> Iterator[Job]:
    """A job of one minute, the shortest that there is."""
    with submitted(site, "sleep", "3000", nodes=1, limit="0:01:00") as job:
        yield job


@pytest.fixture(scope="session", autouse=True)
def begun_early(request: pytest.FixtureRequest) -> None:
    """That minute goes by while other tests run."""
    if any("short_job" in getattr(item, "fixturenames", ()) for item in request.session.items):
        request.getfixturevalue("short_job")


@pytest.fixture
def laptop(site: Site) -> Iterator[Eagleray]:
    """Eagleray on the laptop, with a state of the test's own."""
    with eagleray_on(site, "laptop") as eagleray:
        yield eagleray


@pytest.fixture
def adapter(site: Site) -> Iterator[LabAdapter]:
    """An adapter of the test's own on the laptop."""
    with adapter_on(site, "laptop") as started:
        yield started
