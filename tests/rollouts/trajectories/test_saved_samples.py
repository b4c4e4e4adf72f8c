"""The samples of slime and miles in files of torch.save: read without torch, and nothing of them is executed.

The bytes have the shape that torch 2 writes: a zip with `data.pkl` of protocol 2, and a file for each storage.
"""

from __future__ import annotations

import io
import pickle
import struct
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.rollouts.trajectories.model import TrajectoryQuery
from eagleray.rollouts.trajectories.rows import ItemLimits
from eagleray.rollouts.trajectories.trajectories import Trajectories

from tests.observe.hangs.ranks import TORCH_PYTHON


def plain(value: Any) -> bytes:
    return pickle.dumps(value, 2)[2:-1]


def of_numpy(number: float) -> bytes:
    """A number of NumPy, as pickle writes it."""
    dtype = b"cnumpy\ndtype\n(" + plain("f8") + b"\x89\x88tR"
    content = b"c_codecs\nencode\n(" + plain(struct.pack("<d", number).decode("latin-1"))
    return b"cnumpy._core.multiarray\nscalar\n(" + dtype + content + plain("latin1") + b"tRtR"


def dictionary(parts: dict[str, bytes]) -> bytes:
    return b"}(" + b"".join(plain(key) + part for key, part in parts.items()) + b"u"


def tensor(kind: str, key: str, shape: tuple[int, ...], start: int = 0) -> bytes:
    strides = tuple(1 for _ in shape[:-1]) + ((1,) if shape else ())
    storage = b"(" + plain("storage") + f"ctorch\n{kind}\n".encode() + plain(key) + plain("cpu")
    return b"".join(
        [
            *(b"ctorch._utils\n_rebuild_tensor_v2\n(", storage, b"K\x09tQ", plain(start)),
            *(plain(shape), plain(strides), b"\x89ccollections\nOrderedDict\n)RtR"),
        ]
    )


def saved(samples: list[bytes], storages: dict[str, bytes] | None = None) -> bytes:
    parts = {"rollout_id": plain(7), "samples": b"](" + b"".join(samples) + b"e"}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("7/data.pkl", b"\x80\x02" + dictionary(parts) + b".")
        for key, content in (storages or {}).items():
            archive.writestr(f"7/data/{key}", content)
    return file.getvalue()


def sample(index: int, **parts: bytes) -> bytes:
    values = {
        "group_index": index // 2,
        "index": index,
        "prompt": f"What is {index}?",
        "tokens": [1, 2, 3, 40, 41],
        "response": f"It is {index}.",
        "response_length": 2,
        "reward": 1.0,
        "rollout_log_probs": [-0.5, -0.25],
        "status": "completed",
    }
    return dictionary({**{key: plain(value) for key, value in values.items()}, **parts})


async def test_samples_are_trajectories(tmp_path: Path) -> None:
    path = tmp_path / "7.pt"
    path.write_bytes(
        saved(
            [sample(0), sample(1, reward=of_numpy(0.5)), sample(2), sample(3, reward=plain(-0.5))]
        )
    )
    trajectories = Trajectories()
    summed = await trajectories.statistics(str(path))
    page = await trajectories.page(TrajectoryQuery(str(path)))
    assert (summed.items, summed.groups) == (4, 2)
    assert (summed.rewards.least, summed.rewards.mean, summed.rewards.most) == (-0.5, 0.5, 1.0)
    assert "What is 0?" in page.rows[0].prompt and "It is 0." in page.rows[0].completion
    assert page.rows[0].tokens == 5


async def test_tensors_are_read_from_their_storages(tmp_path: Path) -> None:
    path = tmp_path / "7.pt"
    tokens = struct.pack("<6q", 9, 1, 2, 3, 40, 41)
    halves = struct.pack("<2H", 0xBF00, 0xBE80)
    parts = {
        "tokens": tensor("LongStorage", "0", (5,), 1),
        "rollout_log_probs": tensor("BFloat16Storage", "1", (2,)),
        "reward": tensor("FloatStorage", "2", ()),
        "rollout_routed_experts": tensor("IntStorage", "3", (4, 2)),
    }
    storages = {"0": tokens, "1": halves, "2": struct.pack("<f", 0.25)}
    path.write_bytes(saved([sample(0, **parts)], storages))
    item = await Trajectories().item(str(path), 1, ItemLimits())
    assert item.columns.logprobs == (None, None, None, -0.5, -0.25)
    assert (item.row.tokens, item.row.reward) == (5, 0.25)


async def test_nothing_of_the_pickle_is_executed(tmp_path: Path) -> None:
    path, marker = tmp_path / "7.pt", tmp_path / "marker"
    call = b"cos\nsystem\n(" + plain(f"touch {marker}") + b"tR"
    own = b"cown.classes\nMeta\n)\x81}" + plain("key") + plain("value") + b"sb"
    path.write_bytes(saved([sample(0, metadata=call, label=own)]))
    summed = await Trajectories().statistics(str(path))
    assert summed.items == 1 and not marker.exists()


REAL = """
import sys, torch
sample = {"group_index": 0, "index": 0, "prompt": [{"role": "user", "content": "2+2?"}], "response": "4",
    "tokens": torch.tensor([5, 6, 7, 8], dtype=torch.int32)[:], "response_length": 2, "reward": torch.tensor(1.0),
    "rollout_log_probs": torch.tensor([-0.5, -1.0], dtype=torch.bfloat16), "status": "completed", "metadata": {"a": {1}}}
torch.save({"rollout_id": 7, "samples": [sample, {**sample, "index": 1, "reward": 0.0}]}, sys.argv[1])
"""


@pytest.mark.torch_ranks
async def test_file_of_a_real_torch_is_read(tmp_path: Path) -> None:
    path = tmp_path / "7.pt"
    subprocess.run([str(TORCH_PYTHON), "-c", REAL, str(path)], check=True)
    summed = await Trajectories().statistics(str(path))
    assert (summed.items, summed.rewards.least, summed.rewards.most) == (2, 0.0, 1.0)
    item = await Trajectories().item(str(path), 1, ItemLimits())
    assert item.columns.logprobs == (None, None, -0.5, -1.0)


def _bomb() -> bytes:
    """Thirty lists, each with the one before it, ten times."""
    lists = b"]q\x00K\x01a" + b"".join(
        b"](" + b"h%c" % i * 10 + b"eq%c" % (i + 1) for i in range(30)
    )
    return saved([sample(0, metadata=lists)])


@pytest.mark.parametrize(
    "content",
    [
        saved([]),
        saved([sample(0, tokens=tensor("LongStorage", "0", (5,), 2**40))], {"0": bytes(40)}),
        saved([sample(0)])[:300],
        _bomb(),
    ],
    ids=["empty", "outside", "cut", "bomb"],
)
async def test_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "7.pt"
    path.write_bytes(content)
    with pytest.raises(EaglerayError) as raised:
        await Trajectories().statistics(str(path))
    assert raised.value.code == "not-trajectories"
