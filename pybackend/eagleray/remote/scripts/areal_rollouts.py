"""Runs some data items through AReaL's rollout controller and an agent, without a trainer: an integration test of both.

    python areal_rollouts.py --agent my_agent.MyAgent --folder . --items items.json --config config.yaml scheduler.type=local

All arguments but --agent, --folder and --items are AReaL's own.  The engine of the configuration is started, the agent gets its
proxies, which AReaL's trainer starts too, and each item is run `gconfig.n_samples` times.  Runs in the environment of
AReaL (read in inclusionAI/AReaL 4aef98d8, 2026-05, and areal 1.0.4).  The last line on standard output says how many groups
were accepted.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import sys
from pathlib import Path
from typing import Any

# The default in AReaL's source (4aef98d8, `api/cli_args.py`), so that every user has it.
_PUBLIC_KEY = "areal-admin-key"
_SCHEDULERS = {"local": "LocalScheduler", "slurm": "SlurmScheduler"}


def main() -> int:
    ours, theirs = _arguments()
    _import_from(ours.folder)
    items = json.loads(Path(ours.items).read_text(encoding="utf-8"))  # own file
    config = _configuration(theirs)
    controller = _controller(config)
    try:
        controller.initialize(role="rollout", server_args=_server_arguments(config))
        # Without them, an agent has no address to talk to.
        controller.start_proxy()
        groups = controller.rollout_batch(
            items, workflow=ours.agent, workflow_kwargs={}, group_size=config.gconfig.n_samples
        )
    finally:
        controller.destroy()
    sys.stdout.write(f"accepted {len(groups)} of {len(items)} groups\n")
    return 0 if len(groups) == len(items) else 1


def _arguments() -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--agent", required=True, help="module.Class with `async def run`")
    parser.add_argument("--folder", default="", help="where its module is imported from")
    parser.add_argument("--items", required=True, help="a JSON file with a list of data items")
    return parser.parse_known_args()


def _import_from(folder: str) -> None:
    """Here, and in the processes that the scheduler starts."""
    if folder:
        sys.path.insert(0, folder)
        paths = (folder, os.environ.get("PYTHONPATH", ""))
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))


def _configuration(arguments: list[str]) -> Any:
    from areal.api.cli_args import GRPOConfig, load_expr_config  # type: ignore[import-not-found]

    config, _ = load_expr_config(arguments, GRPOConfig)
    if config.scheduler.type not in _SCHEDULERS:
        # Its proxies don't run there.
        sys.exit(f"scheduler.type={config.scheduler.type} can't run agents; use local or slurm.")
    _replace_public_key(config.rollout)
    return config


def _replace_public_key(rollout: Any) -> None:
    """With it, AReaL refuses to start proxies on a host with a network address (areal 1.0.4)."""
    parts: list[Any] = [rollout, getattr(rollout, "agent", None)]
    for part in parts:
        if getattr(part, "admin_api_key", "") == _PUBLIC_KEY:
            part.admin_api_key = secrets.token_hex(32)


def _controller(config: Any) -> Any:
    import areal.engine  # type: ignore[import-not-found]
    import areal.infra  # type: ignore[import-not-found]

    scheduler = getattr(areal.infra, _SCHEDULERS[config.scheduler.type])(exp_config=config)
    is_sglang = _allocation(config).backend == "sglang"
    engine = areal.engine.RemoteSGLangEngine if is_sglang else areal.engine.RemotevLLMEngine
    return engine.as_controller(config.rollout, scheduler)


def _server_arguments(config: Any) -> Any:
    from areal.api.cli_args import SGLangConfig, vLLMConfig

    allocation = _allocation(config)
    sizes = allocation.parallel
    if allocation.backend == "sglang":
        # Only AReaL 1.0 and later know it.
        stages = {"pp_size": sizes.pp_size} if sizes.pp_size > 1 else {}
        return SGLangConfig.build_args(
            sglang_config=config.sglang, tp_size=sizes.tp_size, base_gpu_id=0, **stages
        )
    return vLLMConfig.build_args(
        vllm_config=config.vllm, tp_size=sizes.tp_size, pp_size=sizes.pp_size
    )


def _allocation(config: Any) -> Any:
    from areal.api.alloc_mode import ModelAllocation  # type: ignore[import-not-found]

    return ModelAllocation.from_str(config.rollout.backend, name="rollout")


if __name__ == "__main__":
    # This folder has modules of Eagleray, and AReaL passes its path on to the processes that it starts.
    del sys.path[0]
    sys.exit(main())
