"""Expressions calculate the same for tensors and arrays as PyTorch and numpy (torch_ranks)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import eagleray
import pytest
from eagleray.remote.inspecting.parsing import parsed

from tests.fuzz import hostile_expressions
from tests.fuzz.engine import PATIENCE_S
from tests.observe.hangs.ranks import TORCH_PYTHON

pytestmark = pytest.mark.torch_ranks

# Evaluated with the libraries and by the reader, in one process; the values are compared there.
COMPARED = r"""
import json, math, sys, numpy, torch
from eagleray.remote.inspecting.inside.arrays import array_of, is_array
from eagleray.remote.inspecting.inside.expressions import evaluate

trees = json.load(sys.stdin)
torch.manual_seed(0)
tensors = {
    "x": torch.randn(3, 4), "i": torch.randint(-9, 9, (3, 4)), "m": torch.randn(3, 4) > 0,
    "h": torch.randn(3, 4).bfloat16(), "v": torch.randn(4), "s": torch.randn(8, 6)[::2, 1:5].T,
    "e": torch.randn(3, 1).expand(3, 4), "q": torch.tensor([1.0, math.nan, -math.inf]),
    "u": torch.tensor([250, 10], dtype=torch.uint8),
}
arrays = {name: tensor.float().numpy() if name == "h" else tensor.numpy() for name, tensor in tensors.items()}
arrays["r"] = arrays["x"][::-1, ::-2]

def plain(value):
    if is_array(value):
        array = array_of(value)
        return [list(array.shape), array.dtype, array.nested()]
    if isinstance(value, numpy.generic):
        return [[], value.dtype.name, value.item()]
    return [plain(each) for each in value] if isinstance(value, (tuple, list)) else value

def is_close(left, right):
    if isinstance(left, list):
        return len(left) == len(right) and all(map(is_close, left, right))
    if isinstance(left, float):
        return math.isclose(left, right, rel_tol=1e-5, abs_tol=1e-6) or left == right or (math.isnan(left) and math.isnan(right))
    return left == right

for library, names in (("torch", tensors), ("numpy", arrays)):
    for expression, tree in trees[library]:
        with numpy.errstate(all="ignore"):
            theirs, ours = plain(eval(expression, {}, dict(names))), plain(evaluate(tree, {}, names))
        assert is_close(theirs, ours), (expression, theirs, ours)
"""

BOTH = (
    *(
        "x.sum()",
        "x.mean()",
        "x.min()",
        "x.max()",
        "x.argmax()",
        "x.argmin()",
        "i.sum()",
        "m.sum()",
    ),
    *(
        "x.sum(0)",
        "x.sum(-1)",
        "x.any()",
        "x.all()",
        "x + x",
        "x * 2 - 1",
        "x / 3",
        "2 / x",
        "i * 7",
    ),
    *(
        "x - v",
        "x > 0",
        "i == 3",
        "x[1]",
        "x[1, 2]",
        "x[:, 1]",
        "x[..., 0]",
        "x[1:, ::2]",
        "x[-1, -1]",
    ),
    *(
        "x[x > 0]",
        "x[m]",
        "x[[0, 2]]",
        "x[None].shape",
        "x.T",
        "s + x.T[:, 0]",
        "s.sum(1)",
        "e + x",
    ),
    *(
        "q.max()",
        "q.min()",
        "q.sum()",
        "q > 0",
        "m * x",
        "abs(x)",
        "-x",
        "~m",
        "i // 3",
        "i % 4",
        "u + u",
    ),
    *("x.tolist()", "x[0, 0].item()", "(x > 0).sum() / 12", "x.shape", "x.ndim", "len(x)", "h + h"),
)
OF_TORCH = (
    *("x.std()", "x.std(unbiased=False)", "x.norm()", "q.isnan()", "q.isinf().any()", "i.unique()"),
    *("x.max(1)", "x.min(0)", "x.sum(1, keepdim=True)", "h * 3", "h.sum()", "x.numel()", "x.dim()"),
    *("s.stride()", "s.is_contiguous()", "x.size(0)", "x.element_size()", "u.any()", "i / 2"),
)
OF_NUMPY = (
    "x.std()",
    "x.std(ddof=1)",
    "r.sum()",
    "r.tolist()",
    "r[0]",
    "x.sum(axis=1, keepdims=True)",
    "x.size",
)


def test_results_equal_the_results_of_the_libraries() -> None:
    trees = {
        library: [(expression, parsed(expression)) for expression in (*BOTH, *more)]
        for library, more in (("torch", OF_TORCH), ("numpy", OF_NUMPY))
    }
    done = subprocess.run(
        [str(TORCH_PYTHON), "-c", COMPARED],
        input=json.dumps(trees),
        env={"PYTHONPATH": str(Path(eagleray.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_hostile_expressions_over_tensors_have_no_effect() -> None:
    count, faults = hostile_expressions.run(
        150, 1, 1000, interpreter=str(TORCH_PYTHON), most_cpu_s=PATIENCE_S
    )
    assert (count, faults) == (1000, [])
