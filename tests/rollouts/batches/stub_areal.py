"""A package `areal` that writes down how the generated script uses it; signatures as in AReaL 4aef98d8."""

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
    actor = SimpleNamespace(backend="fsdp:d1", should_compute_prox_logp=lambda: True)
    return SimpleNamespace(actor=actor, train_dataset=SimpleNamespace(batch_size=2)), "c.yaml"
""",
    "areal/engine/__init__.py": "",
    "areal/engine/fsdp_engine.py": """
import torch, torch.distributed as dist
class FSDPPPOActor:
    device = torch.device("cpu")
    def __init__(self, config): pass
    def create_process_group(self, parallel_strategy=None):
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    def initialize(self, addr, ft_spec, *args, **kwargs): assert addr is None and ft_spec
    def compute_logp(self, data): return [part["logprobs"] + 1 for part in data]
    def compute_advantages(self, data):
        return [{**part, "advantages": part["prox_logp"] * part["loss_mask"]} for part in data]
    def ppo_update(self, data):
        print("updated", float(data[0]["advantages"].sum()), tuple(data[0]["input_ids"].shape))
    def step_lr_scheduler(self): print("stepped")
    def destroy(self): dist.destroy_process_group()
""",
}


def write(folder: Path) -> Path:
    for name, text in FILES.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder
