"""A package `areal` that writes down how the generated script uses it; signatures as in areal 1.0.4.

The script was run with the real one on a CPU, with a Qwen2 of 0.5 M parameters.  A configuration whose name has
`whole` also has a critic and a reference.
"""

from __future__ import annotations

from pathlib import Path

FILES = {
    "areal/__init__.py": "",
    "areal/api/__init__.py": "from areal.api.io_struct import FinetuneSpec\n",
    "areal/api/io_struct.py": """
class FinetuneSpec:
    def __init__(self, total_train_epochs, dataset_size, train_batch_size): pass
""",
    "areal/api/alloc_mode.py": """
class ModelAllocation:
    parallel = "d1"
    @classmethod
    def from_str(cls, text):
        assert text == "fsdp:d1"
        return cls()
""",
    "areal/api/cli_args.py": """
from types import SimpleNamespace
class GRPOConfig: pass
def load_expr_config(argv, kind):
    assert argv[0] == "--config" and kind is GRPOConfig
    is_whole = "whole" in argv[1]
    actor = SimpleNamespace(
        name="actor", backend="fsdp:d1", kl_ctl=0.1 * is_whole, should_compute_prox_logp=lambda: True
    )
    critic, ref = (SimpleNamespace(name=name, backend="fsdp:d1") for name in ("critic", "ref"))
    models = {"actor": actor, "critic": critic if is_whole else None, "ref": ref}
    return SimpleNamespace(**models, train_dataset=SimpleNamespace(batch_size=2)), "c.yaml"
""",
    "areal/engine/__init__.py": "",
    "areal/engine/fsdp_engine.py": """
import torch, torch.distributed as dist
class Engine:
    device = torch.device("cpu")
    def __init__(self, config): self.config, self.owns_group = config, False
    def create_process_group(self, parallel_strategy=None):
        if not dist.is_initialized():
            dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
            self.owns_group = True
    def initialize(self, addr, ft_spec, *args, **kwargs): assert addr is None and ft_spec
    def step_lr_scheduler(self): print(self.config.name, "stepped")
    def destroy(self):
        assert dist.is_initialized()
        if self.owns_group:
            dist.destroy_process_group()
class FSDPPPOActor(Engine):
    def compute_logp(self, data): return [part["logprobs"] + 1 for part in data]
    def compute_advantages(self, data):
        print(*(name for name in data[0] if name in ("values", "ref_logp", "prox_logp")))
        return [{**part, "advantages": part["prox_logp"] * part["loss_mask"]} for part in data]
    def ppo_update(self, data):
        print("updated", float(data[0]["advantages"].sum()), tuple(data[0]["input_ids"].shape))
    def export_stats(self): return {"ppo_actor/update/loss": 0.25, "ppo_actor/update/loss__count": 1}
class FSDPPPOCritic(Engine):
    def compute_values(self, data): return [part["logprobs"] for part in data]
    def ppo_update(self, data): print("critic updated")
""",
}


def write(folder: Path) -> Path:
    for name, text in FILES.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder
