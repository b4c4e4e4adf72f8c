"""Shared by the programs: joining the process group, printing, and a small local Ray."""

import os
from datetime import timedelta

RANK = int(os.environ.get("RANK", "0"))
WORLD = int(os.environ.get("WORLD_SIZE", "1"))


def say(text: str) -> None:
    print(f"[rank {RANK}] {text}", flush=True)


def join(minutes: float = 30) -> None:
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    torch.manual_seed(RANK)
    dist.init_process_group("gloo", timeout=timedelta(minutes=minutes))
    say("joined")


def local_ray(cpus: int, resources: dict[str, float] | None = None) -> None:
    import ray

    ray.init(
        address="local",
        num_cpus=cpus,
        resources=resources,
        include_dashboard=True,
        _temp_dir=os.environ.get("RAY_TMPDIR"),
        object_store_memory=100_000_000,
        runtime_env={"env_vars": {"OMP_NUM_THREADS": "1"}},
    )
    say(
        f"dashboard {ray.get_runtime_context().gcs_address} {ray._private.worker._global_node.webui_url}"
    )


def rank_env(rank: int, world: int) -> dict[str, dict[str, str]]:
    """A runtime environment that gives an actor its rank, as frameworks do."""
    return {"env_vars": {"RANK": str(rank), "WORLD_SIZE": str(world)}}
