"""Starts its worker with the variables of the actor's scheduling_spec and nothing else, as AReaL does."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from hydra import compose, initialize_config_dir
from in_workers import PREFIXES, say, seen

if len(sys.argv) == 1:
    say(seen())
else:
    parser = argparse.ArgumentParser()
    parser.add_argument("--config")
    known, overrides = parser.parse_known_args()
    file = Path(known.config).absolute()
    with initialize_config_dir(str(file.parent), version_base=None):
        config = compose(file.stem, overrides=overrides)
    base = {n: v for n, v in os.environ.items() if not n.startswith(PREFIXES)}
    env = {**base, **config.actor.scheduling_spec[0].env_vars}
    subprocess.run([sys.executable, __file__], env=env, check=True)
