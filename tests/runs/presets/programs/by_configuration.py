"""Merges a runtime_env of its Hydra configuration over one of its own, as verl does from 0.6 on."""

from __future__ import annotations

import hydra
import ray
from in_workers import say, seen
from omegaconf import DictConfig, OmegaConf


@hydra.main(config_path=".", config_name="config", version_base=None)
def main(config: DictConfig) -> None:
    own = {"env_vars": {"NCCL_DEBUG": "WARN"}}
    asked = config.ray_kwargs.ray_init
    merged = OmegaConf.merge(own, asked.get("runtime_env", {}))
    made = OmegaConf.create({**asked, "runtime_env": merged})
    ray.init(**OmegaConf.to_container(made))
    say(ray.get(ray.remote(seen).remote()))


main()
