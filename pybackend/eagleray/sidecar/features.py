"""The features of the sidecar: a list, no logic."""

from __future__ import annotations

from eagleray.app import Settings, build
from eagleray.features.clusters import handlers as clusters
from eagleray.features.debugging import handlers as debugging
from eagleray.features.pdb import handlers as pdb
from eagleray.features.profiling import handlers as profiling
from eagleray.features.runs import handlers as runs
from eagleray.features.source_mapping import handlers as source_mapping
from eagleray.features.workers import handlers as workers
from eagleray.wire.requests import Requests


def registered(settings: Settings) -> Requests:
    """A registry that answers for every feature."""
    parts = build(settings)
    requests = Requests()
    for feature in (clusters, workers, debugging, source_mapping, runs, pdb, profiling):
        feature.register(requests, parts)
    requests.at_end(parts.close)
    return requests
