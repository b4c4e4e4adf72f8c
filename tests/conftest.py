"""What holds for all Python tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# Fixtures that the tests of several folders use.
pytest_plugins = ["tests.fakes.surroundings"]

# A slow machine is no failure of a law.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")
