"""Batches of a real torch: loaded without executing anything, saved from a dump, trained on (torch_ranks)."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest
from eagleray.cli.json_schemas import json_schema
from eagleray.rollouts.batches import batches
from eagleray.rollouts.batches.errors import NeedsUnpickleError

from tests.asked import eagleray
from tests.observe.hangs.ranks import TORCH_PYTHON
from tests.rollouts.batches import stub_areal
from tests.rollouts.trajectories.dumps import areal, nemo, own, write

pytestmark = pytest.mark.torch_ranks
PYTHON = ("--python", str(TORCH_PYTHON))
# The kind of each file of `files`.
PROGRAM = """
import math, pickle, sys, types, torch
folder = sys.argv[1]
mask = torch.tensor([[0, 0, 1, 1], [0, 0, 0, 0]], dtype=torch.int32)
logprobs = torch.tensor([[0.0, 0.0, math.nan, -1.0], [0.0, 0.0, 0.0, 0.0]])
good = {
    "input_ids": torch.tensor([[1, 2, 3, 99], [4, 5, 6, 7]], dtype=torch.int32),
    "loss_mask": mask,
    "logprobs": logprobs,
    "advantages": torch.zeros(2, 4),
    "rewards": torch.tensor([1.0, math.inf]),
    "meta": {"step": 3},
}
torch.save(good, folder + "/good.pt")
torch.save([{"input_ids": torch.ones(1, 3)}, {"input_ids": torch.ones(1, 5)}], folder + "/list.pt")
torch.save(good, folder + "/legacy.pt", _use_new_zipfile_serialization=False)
# verl 0.9.1 saves its rollouts as nested tensors (`tq_batch.pt`).
nested = lambda *rows: torch.nested.nested_tensor(list(rows), layout=torch.jagged)
torch.save({
    "response_mask": nested(torch.tensor([1, 1, 0]), torch.tensor([1])),
    "rollout_log_probs": nested(torch.tensor([-1.0, -2.0, -9.0]), torch.tensor([-3.0])),
    "responses": nested(torch.tensor([4, 5, 6]), torch.tensor([7])),
}, folder + "/nested.pt")
class Evil:
    def __reduce__(self):
        return (open, (folder + "/executed", "w"))
torch.save({"a": torch.ones(2), "evil": Evil()}, folder + "/evil.pt")
verl = sys.modules["verl_like"] = types.ModuleType("verl_like")
exec("class DataProto: pass", verl.__dict__)
proto = verl.DataProto()
proto.batch, proto.non_tensor_batch, proto.meta_info = good, {"uid": [1, 2]}, {"n": 2}
with open(folder + "/proto.pkl", "wb") as file:
    pickle.dump(proto, file)
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("batches")
    subprocess.run([str(TORCH_PYTHON), "-c", PROGRAM, str(folder)], check=True)
    return folder


async def test_batch_is_summed_up(files: Path, own_home: Path) -> None:
    done = await eagleray(
        "rollouts", "batch", str(files / "good.pt"), *PYTHON, "--vocabulary", "99", "--json"
    )
    jsonschema.validate(done.json, json_schema("batch"))
    assert done.json["loaded"] == "weights_only"
    assert done.json["findings"] == [
        "input_ids has id 99; the vocabulary ends at 98.",
        "loss_mask is 0 in 1 rows, which train nothing.",
        "logprobs has 1 values that are NaN.",
        "rewards has 1 infinite values.",
        "rewards is 1 everywhere.",
        "advantages is 0 for all trained tokens.",
    ]
    tensors = {tensor["name"]: tensor for tensor in done.json["tensors"]}
    assert tensors["logprobs"]["shape"] == [2, 4]
    assert tensors["loss_mask"]["row_sums"] == {"total": 2.0, "least": 0.0, "most": 2.0, "empty": 1}
    assert done.json["values"] == [{"name": "meta.step", "type": "int", "text": "3"}]


async def test_list_of_trajectories_has_paths(files: Path, own_home: Path) -> None:
    done = await eagleray("rollouts", "batch", str(files / "list.pt"), *PYTHON)
    assert [line.split()[:2] for line in done.out.splitlines()[3:]] == [
        ["0.input_ids", "1x3"],
        ["1.input_ids", "1x5"],
    ]


async def test_older_format_is_loaded_without_executing(files: Path, own_home: Path) -> None:
    done = await eagleray("rollouts", "batch", str(files / "legacy.pt"), *PYTHON, "--json")
    assert done.json["loaded"] == "weights_only"


async def test_code_of_a_batch_is_executed_only_on_request(files: Path, own_home: Path) -> None:
    executed, path = files / "executed", str(files / "evil.pt")
    done = await eagleray("rollouts", "batch", path, *PYTHON)
    assert (done.code, executed.exists()) == (1, False)
    assert done.err.splitlines() == [
        f"eagleray: Reading {path} would execute code: io.open. Dangerous: io.open.",
        "Don't load it.",
    ]
    done = await eagleray("rollouts", "batch", path, *PYTHON, "--unpickle", "--json")
    assert done.err.splitlines()[0] == f"Executing what {path} names: io.open"
    assert (done.json["loaded"], done.json["names"], executed.exists()) == (
        "unpickled",
        ["io.open"],
        True,
    )


async def test_forged_batch_is_named_and_cannot_import_more(files: Path, own_home: Path) -> None:
    """Its last texts belong to numpy.ndarray, the import takes `os` and `system` from the memo."""
    path, mark = files / "forged.pkl", files / "forged"
    hidden = b"\x8c\x02os\x94\x8c\x06system\x94\x8c\x05numpy0\x8c\x07ndarray0h\x00h\x01\x93"
    path.write_bytes(b"\x80\x04" + hidden + b"Vtouch %s\n\x85R." % bytes(mark))
    done = await eagleray("rollouts", "batch", str(path), *PYTHON)
    assert "would execute code: os.system. Dangerous: os.system." in done.err
    with pytest.raises(NeedsUnpickleError) as raised:
        await batches.summary(str(path), str(TORCH_PYTHON), ["numpy.ndarray"])
    assert raised.value.names == ("os.system",)
    assert not mark.exists()


async def test_agreement_holds_for_pickles_that_the_file_loads(files: Path, own_home: Path) -> None:
    """A tensor in a plain pickle is one of torch.save, which torch.storage._load_from_bytes loads."""
    names = ["torch.storage._load_from_bytes", "verl_like.DataProto"]
    done = await eagleray("rollouts", "batch", str(files / "proto.pkl"), *PYTHON)
    assert done.code == 1 and f"code: {', '.join(names)}." in done.err
    assert done.err.splitlines()[-1] == "Add --unpickle only if you trust who wrote it."
    nested, mark = files / "nested.pkl", files / "nested-executed"
    within = b"\x80\x04cposix\nsystem\nVtouch %s\n\x85R." % bytes(mark)
    given = b"B" + len(within).to_bytes(4, "little") + within
    nested.write_bytes(b"\x80\x04ctorch.storage\n_load_from_bytes\n" + given + b"\x85R.")
    done = await eagleray("rollouts", "batch", str(nested), *PYTHON)
    assert (
        "code: posix.system, torch.storage._load_from_bytes. Dangerous: posix.system." in done.err
    )
    assert "--unpickle" not in done.err
    assert not mark.exists()


async def test_unlistable_batch_is_never_loaded(files: Path, own_home: Path) -> None:
    path, mark = files / "computed.pkl", files / "computed"
    name = b"cbuiltins\nstr\n\x8c\x05posix\x85R\x8c\x06system\x93"
    path.write_bytes(b"\x80\x04" + name + b"Vtouch %s\n\x85R." % bytes(mark))
    for option in ((), ("--unpickle",)):
        done = await eagleray("rollouts", "batch", str(path), *PYTHON, *option)
        assert (done.code, mark.exists()) == (1, False)
        assert f"What reading {path} would execute can't be listed." in done.err
        assert "--unpickle" not in done.err


async def test_nested_tensors_are_summed_up(files: Path, own_home: Path) -> None:
    """Their own shape has a symbol, and no padding counts."""
    options = (*PYTHON, "--unpickle", "--json")
    done = await eagleray("rollouts", "batch", str(files / "nested.pt"), *options)
    tensors = {tensor["name"]: tensor for tensor in done.json["tensors"]}
    mask, ids = tensors["response_mask"], tensors["responses"]
    assert (mask["shape"], mask["row_sums"]["total"], mask["row_sums"]["least"]) == ([2, 3], 3, 1)
    assert (ids["least"], ids["most"], ids["bytes"]) == (4, 7, 32)
    [logprobs] = done.json["masked"]
    assert (logprobs["name"], logprobs["count"]) == ("rollout_log_probs", 3)
    assert (logprobs["least"], logprobs["most"]) == (-3.0, -1.0)


async def test_damaged_batch_and_missing_torch_are_errors(files: Path, own_home: Path) -> None:
    damaged = files / "damaged.pt"
    damaged.write_bytes((files / "good.pt").read_bytes()[:200])
    for path, python, code in (
        (damaged, TORCH_PYTHON, "would execute"),
        (files / "good.pt", "/nowhere/python", "Can't start /nowhere/python: No such file"),
        (files / "missing.pt", TORCH_PYTHON, "Can't read"),
    ):
        done = await eagleray("rollouts", "batch", str(path), "--python", str(python))
        assert done.code == 1 and (code in done.err or "can't load" in done.err), done.err


async def test_rows_of_a_group_are_neighbours(tmp_path: Path, own_home: Path) -> None:
    """AReaL normalizes rewards over as many neighbours as a group has; a wave has them in the order of their ends."""
    runs = [("b", 0, 1.0), ("a", 0, 2.0), ("b", 1, 3.0), ("a", 1, 4.0)]
    dump = write(tmp_path / "a.jsonl", [own(group, at, reward=r) for group, at, r in runs])
    batch = tmp_path / "batch.pt"
    await eagleray("rollouts", "batch", str(dump), "--save", str(batch), *PYTHON)
    program = f"import torch; print(torch.load({str(batch)!r})['rewards'].tolist())"
    loaded = subprocess.run(
        [str(TORCH_PYTHON), "-c", program], capture_output=True, text=True, check=True
    )
    assert loaded.stdout.strip() == "[1.0, 3.0, 2.0, 4.0]"


async def test_batch_of_a_dump_trains_in_the_generated_script(
    tmp_path: Path, own_home: Path
) -> None:
    dump = write(tmp_path / "a.jsonl", [nemo(1), own("g", 0), areal(1, 0)])
    batch = tmp_path / "batch.pt"
    saved = await eagleray("rollouts", "batch", str(dump), "--save", str(batch), *PYTHON, "--json")
    assert saved.err.splitlines() == [
        "1 trajectories have no token ids or reward.",
        "Saved 2 trajectories.",
    ]
    shapes = {tensor["name"]: tensor["shape"] for tensor in saved.json["tensors"]}
    assert shapes == {
        "input_ids": [2, 6],
        "loss_mask": [2, 6],
        "logprobs": [2, 6],
        "versions": [2, 6],
        "attention_mask": [2, 6],
        "rewards": [2],
    }
    assert stat.S_IMODE(batch.stat().st_mode) == 0o600
    stub = stub_areal.write(tmp_path / "stub")
    critic = ["critic updated", "critic stepped"]
    for config, before, after in (
        ("c.yaml", "prox_logp", []),
        ("whole.yaml", "values ref_logp prox_logp", critic),
    ):
        script = tmp_path / f"{config}.py"
        written = ("--script", str(script), "--config", config)
        generated = await eagleray("rollouts", "replay", str(batch), *written, "--json")
        assert generated.json["argv"][:3] == ["torchrun", "--nproc-per-node=1", str(script)]
        # As torchrun starts it, with the arguments after the script.
        ran = subprocess.run(
            [str(TORCH_PYTHON), *generated.json["argv"][2:]],
            env={**os.environ, "PYTHONPATH": str(stub)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.stdout.splitlines() == [
            before,
            "updated 2.9000000953674316 (2, 6)",
            "actor stepped",
            *after,
            "ppo_actor/update/loss: 0.25",
        ], ran.stderr
