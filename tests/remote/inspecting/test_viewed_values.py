"""Records of tensors, arrays and dataframes agree with PyTorch, numpy and pandas, and are bounded (torch_ranks)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import eagleray
import pytest

from tests.observe.hangs.ranks import TORCH_PYTHON

pytestmark = pytest.mark.torch_ranks

PRELUDE = """
import json, math, sys, time, numpy, torch, pandas
from eagleray.remote.inspecting import stopped_reading
from eagleray.remote.inspecting.parsing import parsed
from eagleray.remote.inspecting.inside.limits import begin
from eagleray.remote.inspecting.inside.views import ValueReading, view_answer
from eagleray.remote.inspecting.inside.statistics import statistics
from eagleray.remote.inspecting.inside.arrays import array_of
from eagleray.remote.inspecting.stopped_reading import StoppedReading, answer_stopped
def view(names, expression, reading=None, **more):
    begin()
    return view_answer({"expression": expression, "tree": parsed(expression), **more}, {}, names, reading)
def stopped(names, expression, **more):
    record = answer_stopped({"expression": expression, "tree": parsed(expression), **more}, {}, names)
    return json.loads(json.dumps(record, allow_nan=False))
"""


def run(program: str) -> str:
    folder = Path(eagleray.__file__).parents[1]
    done = subprocess.run(
        [
            TORCH_PYTHON,
            "-c",
            f"import sys; sys.path.insert(0, {str(folder)!r})\n{PRELUDE}{program}",
        ],
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_statistics_agree_with_the_library_for_each_type_and_layout() -> None:
    run("""
torch.manual_seed(0)
odd = torch.randn(60, 40); odd[3, 4], odd[5, 6], odd[7, 8] = math.nan, math.inf, -math.inf
tensors = [
    torch.randn(60, 40), odd, torch.randn(60, 40).bfloat16(), torch.randn(60, 40).half(), 1e8 + torch.rand(500).double(),
    torch.randint(-9, 9, (60, 40)), torch.randn(9, 9) > 0, torch.randn(80, 60)[::2, 1:50:3].T, torch.zeros(3), torch.tensor(2.5),
    torch.randn(40, 1).expand(40, 30), torch.zeros(0, 3),
]
for tensor in tensors:
    for library in (None, numpy):
        begin(bool, 9.0)
        got = statistics(array_of(tensor), 100_000, library)
        exact = tensor.double()
        finite = exact[exact.isfinite()]
        assert (got["nan"], got["inf"]) == (int(exact.isnan().sum()), int(exact.isinf().sum())), got
        assert (got["count"], got["of"], got["how"]) == (tensor.numel(), tensor.numel(), "all")
        assert got["zeros"] == int((finite == 0).sum())
        if finite.numel():
            assert (got["min"], got["max"]) == (finite.min().item(), finite.max().item()), got
            assert math.isclose(got["mean"], finite.mean().item(), rel_tol=1e-9, abs_tol=1e-9), got
            assert math.isclose(got["std"], finite.std(correction=0).item(), rel_tol=1e-6, abs_tol=1e-9), got
        if got["bins"]:
            assert sum(got["bins"]) == finite.numel()
            theirs = torch.histc(finite, 32, got["min"], got["max"]).int().tolist()
            assert sum(abs(a - b) for a, b in zip(got["bins"], theirs)) <= 4, (got, theirs)
""")


def test_large_tensors_are_sampled_and_the_sample_is_named() -> None:
    run("""
huge = torch.zeros(2**28)
huge[::2] = 1.0
for each in (view({"x": huge}, "x"), stopped({"x": huge}, "x")):
    got = each["statistics"]
    assert got["how"] == "spread" and got["of"] == 2**28 and 10_000 < got["count"] < 2**20, got
    assert abs(got["mean"] - 0.5) < 0.01
    assert len(json.dumps(each)) < 20_000
far = torch.randn(3000, 5000).T
got = view({"x": far}, "x")["statistics"]
assert (got["how"], got["of"]) == ("spread", 15_000_000) and abs(got["std"] - 1) < 0.1, got
# Time is up after some of the numbers.
begin(bool, 0.01)
got = statistics(array_of(torch.zeros(2**22)), 2**22)
assert got["how"] == "first" and 0 < got["count"] < 2**22 and got["bins"] == [], got
""")


def test_part_of_the_numbers_is_bounded_and_inside_the_array() -> None:
    run("""
x = torch.arange(4 * 300 * 200).reshape(4, 300, 200)
def cells(**more):
    grid = view({"x": x}, "x", **more)["grid"]
    place = x[grid["at"][0], grid["row"]::grid["row_step"], grid["column"]::grid["column_step"]]
    assert grid["cells"] == place[:grid["rows"], :grid["columns"]].tolist()
    return grid
assert len(cells()["cells"]) == 50
assert cells(at=[2], row=290, column=195)["at"] == [2]
assert cells(at=[9], row=10**9, column=-5)["row"] == 299
image = cells(rows=128, columns=128, row_step=3, column_step=2)
assert (image["rows"], image["columns"]) == (100, 100)
assert sum(map(len, cells(rows=10**9, columns=10**9)["cells"])) <= 128 * 128
v = view({"v": torch.arange(7)}, "v", row=5)["grid"]
assert v["cells"] == [[5], [6]]
assert view({"s": torch.tensor(math.nan)}, "s")["grid"]["cells"] == [["nan"]]
assert view({"i": torch.tensor([2**60])}, "i")["grid"]["cells"] == [[str(2**60)]]
""")


def test_device_is_copied_from_in_bounded_parts_and_given_up_in_time() -> None:
    run("""
class Device(StoppedReading):
    "As with a tensor of a GPU: its numbers are in no memory of the CPU."
    def copied(self, tensor, index):
        part = x[index]
        assert part.numel() <= max(self.most, 128 * 128)
        return stopped_reading.in_thread(lambda: part.contiguous(), "late")
x = torch.randn(3000, 3000)
meta = torch.empty(3000, 3000, device="meta")
got = view({"x": meta}, "x", Device(), rows=2, columns=3)
assert got["statistics"]["how"] == "spread" and got["statistics"]["of"] == 9_000_000, got["statistics"]
assert got["grid"]["cells"] == [[float(f"{n:.7g}") for n in row] for row in x[:2, :3].tolist()]
got = view({"x": meta}, "x")
assert "may wait for it" in got["why"] and "statistics" not in got and got["shape"] == [3000, 3000]
assert stopped({"x": meta}, "x")["why"] == "A tensor of the device meta has no numbers"

stopped_reading._WAITING_S = 0.2
class Hanging(StoppedReading):
    def copied(self, tensor, index):
        return stopped_reading.in_thread(lambda: time.sleep(3), "cuda:0 gave no answer within 0.2 s: it may hang")
for why in ("cuda:0 gave no answer", "An earlier reading still waits"):
    since = time.monotonic()
    assert why in view({"x": meta}, "x", Hanging())["why"]
    assert time.monotonic() - since < 2
""")


def test_dataframe_has_its_columns_missing_values_and_rows() -> None:
    run("""
frame = pandas.DataFrame({"loss": [1.0, None, 3.0] * 100, "name": ["a", None, "c"] * 100, "at": pandas.Timestamp(0)})
got = stopped({"frame": frame}, "frame", row=1, rows=2)
assert got["shape"] == [300, 3]
table = got["table"]
assert [(c["name"], c["nulls"]) for c in table["columns"]] == [("'loss'", 100), ("'name'", 100), ("'at'", 0)]
assert table["columns"][0]["dtype"] == "float64"
assert [row[0] for row in table["cells"]] == ["nan", 3.0] and table["index"] == ["1", "2"]
assert stopped({"s": frame["loss"]}, "s")["shape"] == [300, 1]
wide = pandas.DataFrame(numpy.zeros((5000, 3000)))
assert len(json.dumps(stopped({"w": wide}, "w", rows=10**6, columns=10**6))) < 2_000_000
assert view({"frame": frame}, "frame")["why"] == "A dataframe is read in a stopped worker only"
class Own(pandas.DataFrame):
    def __len__(self): raise SystemExit
assert "table" not in stopped({"o": Own(frame)}, "o")
""")


def test_code_of_the_program_is_not_called() -> None:
    run("""
class Evil:
    def __getattribute__(self, name): raise SystemExit(name)
    def __repr__(self): raise SystemExit("repr")
    __len__ = __iter__ = __eq__ = __hash__ = __bool__ = __repr__
class EvilTensor(torch.Tensor):
    @classmethod
    def __torch_function__(cls, *a, **k): raise SystemExit("function")
class EvilList(list):
    def __len__(self): raise SystemExit("len")
    __iter__ = __getitem__ = __len__
names = {"evil": Evil(), "tensor": torch.Tensor._make_subclass(EvilTensor, torch.zeros(3)), "items": EvilList([1]), "holds": {"a": Evil()}}
for name in names:
    assert "error" not in stopped(names, name), name
    assert "error" not in view(names, name), name
texts = answer_stopped({"names": list(names)}, {}, names)["texts"]
assert texts["holds"] == "dict (1)" and texts["evil"] == ""
x = torch.zeros(2, 3, dtype=torch.bfloat16)
texts = answer_stopped({"names": ["x", "y", "z"]}, {"z": True}, {"x": x, "y": x.sum()})["texts"]
assert texts == {"x": "Tensor (2, 3) bf16 cpu", "y": "0", "z": "True"}
""")


def test_module_imports_nothing_into_the_program() -> None:
    from eagleray.remote.inspecting.inside_source import for_stopped

    program = """
import json, sys
before = set(sys.modules)
names = {"__name__": "reader"}
exec(compile(sys.stdin.read(), "reader", "exec"), names)
print(json.dumps(names["answer_stopped"]({"names": ["x"]}, {}, {"x": [1]})))
print([name for name in ("numpy", "torch", "pandas") if name in sys.modules])
"""
    done = subprocess.run(
        [TORCH_PYTHON, "-I", "-c", program],
        input=for_stopped(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [json.dumps({"texts": {"x": "list (1)"}}), "[]"]
