"""What holds for all Python tests."""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

# Fixtures that the tests of several folders use.
pytest_plugins = ["tests.fakes.surroundings", "tests.shared_clusters"]

# Who is told to end ends what its tests have started, and says which of them it was.
signal.signal(signal.SIGTERM, signal.default_int_handler)

# A slow machine is no failure of a law.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")
