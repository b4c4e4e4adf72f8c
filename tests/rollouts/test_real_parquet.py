"""Items of real Parquet files, which pyarrow of the environment `proofs` writes and reads."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.rollouts.agents.agents import with_items
from eagleray.rollouts.agents.data_items import DataChoice
from eagleray.rollouts.agents.model import AgentPlan, DataItem

from tests.shared_clusters import TORCH_PYTHON

ROOT = Path(__file__).parents[2]
# It needs that environment, not ranks.
pytestmark = pytest.mark.torch_ranks

# Columns as verl's data sets have them, in row groups that are smaller than what is read at once.
WRITER = """
import datetime, sys
import pyarrow as pa, pyarrow.parquet as parquet
rows = [
    {
        "prompt": [{"role": "user", "content": f"2+{n} = ? 你好 \\N{EAGLE}"}, {"role": "assistant", "content": None}],
        "extra_info": {"index": 2**62 + n, "split": "train"},
        "scores": [[0.5, float(n)], []],
        "made": datetime.datetime(2026, 11, 27, tzinfo=datetime.timezone.utc),
        "raw": b"\\x00\\xff",
    }
    for n in range(1, 2501)
]
parquet.write_table(pa.Table.from_pylist(rows), sys.argv[1], row_group_size=700)
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("parquet") / "train.parquet"
    subprocess.run([TORCH_PYTHON, "-c", WRITER, str(file)], check=True)
    return file


async def items_of(data: DataChoice, groups: int = 1) -> tuple[DataItem, ...]:
    plan = AgentPlan(
        target="module:Class",
        base_url="http://127.0.0.1:9/v1",
        api_key="none",
        cwd=str(data.path.parent),
        python=TORCH_PYTHON,
        groups=groups,
    )
    return (await with_items(plan, data)).items


async def test_nested_columns_large_integers_and_unicode_are_items(
    own_home: Path, data: Path
) -> None:
    [item] = await items_of(DataChoice(data, 2049))
    assert item == DataItem(
        2049,
        {
            "prompt": [
                {"role": "user", "content": "2+2049 = ? 你好 \N{EAGLE}"},
                {"role": "assistant", "content": None},
            ],
            "extra_info": {"index": 2**62 + 2049, "split": "train"},
            "scores": [[0.5, 2049.0], []],
            "made": "2026-11-27 00:00:00+00:00",
            "raw": "b'\\x00\\xff'",
        },
    )


async def test_wave_takes_its_items_over_row_groups(own_home: Path, data: Path) -> None:
    items = await items_of(DataChoice(data), groups=1500)
    assert [item.number for item in items] == list(range(1, 1501))
    assert items[-1].data["extra_info"]["index"] == 2**62 + 1500


def test_pandas_reads_the_same_rows(data: Path) -> None:
    """Its nested columns are arrays of numpy."""
    program = (
        "import json, sys; from eagleray.remote.injected.agents import parquet_rows as rows;"
        "same = rows.read_rows(sys.argv[1], 2, 3);"
        "rows._read = rows._with_pandas;"
        "print(json.dumps([same, rows.read_rows(sys.argv[1], 2, 3)]))"
    )
    printed = subprocess.run(
        [TORCH_PYTHON, "-c", program, str(data)],
        env={"PYTHONPATH": str(ROOT / "pybackend")},
        capture_output=True,
        check=True,
    )
    by_pyarrow, by_pandas = json.loads(printed.stdout)
    assert by_pandas == by_pyarrow
    assert len(by_pandas["rows"]) == 3


@pytest.mark.parametrize(
    ("choice", "code"), [(2501, "no-item"), (1, "bad-data")], ids=["past the end", "cut off"]
)
async def test_missing_row_and_broken_file_are_named(
    own_home: Path, data: Path, tmp_path: Path, choice: int, code: str
) -> None:
    file = data
    if code == "bad-data":
        file = tmp_path / "cut.parquet"
        file.write_bytes(data.read_bytes()[:-100])
    with pytest.raises(EaglerayError) as raised:
        await items_of(DataChoice(file, choice))
    assert raised.value.code == code
