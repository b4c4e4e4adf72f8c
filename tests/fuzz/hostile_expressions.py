"""Fuzzes what reads values in a process: random expressions over hostile objects, in a process of its own, which may crash.

The properties: no code of an object runs (its witness says so), no object changes, nothing is printed, the process lives,
and no expression needs more than `MOST_CPU_S`.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.fuzz import hostile_objects

ROOT = Path(__file__).parents[2]
MOST_CPU_S = 0.2
# After so many expressions all objects are compared with before.
_COMPARED = 2000
_LONGEST = 2000
_ATTRIBUTES = (
    *("a", "b", "c", "data", "lazy", "shape", "dtype", "device", "T", "mT", "grad", "size", "ndim"),
    *("name", "value", "mode", "closed", "raw", "buffer", "contents", "real", "imag", "args", "x"),
    *("__class__", "__dict__", "__name__", "__qualname__", "__module__", "__doc__", "__bases__"),
    *("__mro__", "__eq__", "__repr__", "__code__", "__globals__", "__closure__", "__func__"),
    *("__cause__", "__traceback__", "__wrapped__", "__annotations__", "__weakref__", "__self__"),
    *("f_locals", "f_back", "f_globals", "gi_frame", "cr_frame", "cr_await", "tzinfo", "year"),
    *("numerator", "start", "stop", "obj", "nbytes", "maxlen", "default_factory", "flags", "base"),
    *("strides", "itemsize", "flat", "ctypes", "weight", "bias", "is_leaf", "layout", "_version"),
    *(
        "string",
        "pos",
        "typecode",
        "maps",
        "_value_",
        "_name_",
        "shape_",
        "A",
        "B",
        "cell_contents",
    ),
)
_METHODS = (
    *("keys", "values", "items", "get", "count", "index", "startswith", "endswith", "split"),
    *("strip", "append", "clear", "pop", "join", "format", "encode", "read", "readline", "close"),
    *("size", "dim", "numel", "item", "sum", "mean", "std", "min", "max", "abs", "norm", "isnan"),
    *("isinf", "any", "all", "tolist", "element_size", "stride", "is_contiguous", "argmax"),
    *("argmin", "unique", "numpy", "detach", "add_", "to", "view", "reshape", "release", "tobytes"),
    *("__repr__", "__len__", "__getitem__", "__class__", "send", "copy", "mro", "__subclasses__"),
)
_FUNCTIONS = (
    *("abs", "all", "any", "bool", "enumerate", "float", "id", "int", "isinstance", "len", "list"),
    *("max", "min", "round", "set", "sorted", "sum", "tuple", "dict", "type", "zip", "str", "repr"),
    *("print", "open", "eval", "iter", "next", "map", "hash", "getattr", "vars", "super", "exec"),
)
_CONSTANTS = (
    *("0", "1", "-1", "2", "10**3", "1e308", "0.5", "1j", "True", "None", "...", "'a'", "''"),
    *("b'a'", "'b'", "9" * 300, "'x' * 9999", "(1, 2)", "[0, 1]", "()", "3000000", "1e-320"),
)
_BINARY = ("+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^", "@")
_COMPARED_BY = ("==", "!=", "<", "<=", ">", ">=", "in", "not in", "is", "is not")
# Over arrays and containers, so that more than half of the expressions have a value.
_FITTING = (
    *("{a}.sum({k})", "{a}.mean()", "{a}.std()", "{a}.max({k})", "{a}.argmin()", "{a}.any()"),
    *("{a}[{k}]", "{a}[{a} > 0]", "{a}[::2].T", "({a} + {a})", "({a} * {k})", "({a} == {a})"),
    *("{a}.tolist()", "{a}.shape", "{a}.unique()", "{a}.isnan().any()", "({a} / {k}).norm()"),
    *("len({c})", "{c}[{k}]", "sorted({c})", "({k} in {c})", "({c} == {c})", "list({c})"),
    *(
        "set({c})",
        "sum({c})",
        "max({c}, default={k})",
        "{c}.get({k})",
        "{c}.count({k})",
        "(not {c})",
    ),
    *("{c}.items()", "dict({c})", "tuple({c})[:2]", "list(zip({c}, {c}))", "({c} + {c})"),
    *("{o}.a", "{o}.__class__", "type({o})", "isinstance({o}, type({o}))", "str({o})", "bool({o})"),
)
_CONTAINERS = (
    *("items", "pairs", "ordered", "some", "queue", "text", "large_dict", "same_hash", "by_text"),
    *("hitems", "hkeys", "cycle", "loop", "large", "texts", "wide_list", "row", "space", "hnested"),
)
_SLOW = (
    *("wide_list", "large", "large_text", "texts", "large_dict", "large_set", "same_hash", "huge"),
    *("half", "endless", "deep", "t_wide", "t_huge", "n_huge", "n_none"),
)
_FORMS = (
    *("[x for x in {}]", "{{x: 1 for x in {}}}", "(x for x in {})", "lambda: {}", "f'{{{}}}'"),
    *("(y := {})", "[*{}]", "{{**{}}}", "{{{}}}", "await {}", "(yield {})", "print(*{})"),
)


class Expressions:
    """Random expressions over names; the same seed makes the same ones."""

    def __init__(self, rand: random.Random, names: list[str]) -> None:
        self._rand = rand
        # Expressions that only the deadline ends are rarer, or the others would hardly be tried.
        self._names = [name for name in names for _ in range(1 if name in _SLOW else 8)]
        self._kinds = {
            "a": [name for name in self._names if name[:2] in ("t_", "n_")] or ["row"],
            "c": [name for name in self._names if name in _CONTAINERS],
            "k": ["0", "1", "-1", "'a'", "a", "number", "None", "2", "n_scalar"],
            "o": self._names,
        }

    def made(self, depth: int = 3) -> str:
        rand = self._rand
        chance = rand.random()
        if depth == 0 or chance < 0.12:
            return rand.choice(self._names) if rand.random() < 0.85 else rand.choice(_CONSTANTS)
        if rand.random() < 0.3:
            parts = {kind: rand.choice(those) for kind, those in self._kinds.items()}
            return rand.choice(_FITTING).format(**parts)
        inner = self.made(depth - 1)
        if chance < 0.32:
            return f"{inner}.{rand.choice(_ATTRIBUTES)}"
        if chance < 0.46:
            return f"{inner}[{self._index(depth)}]"
        if chance < 0.6:
            return f"{inner}.{rand.choice(_METHODS)}({self._arguments(depth)})"
        if chance < 0.74:
            more = self._arguments(depth, rand.random() < 0.3)
            return f"{rand.choice(_FUNCTIONS)}({inner}{', ' * bool(more)}{more})"
        if chance < 0.82:
            return f"({inner} {rand.choice(_BINARY)} {self.made(depth - 1)})"
        if chance < 0.9:
            return f"({inner} {rand.choice(_COMPARED_BY)} {self.made(depth - 1)})"
        if chance < 0.93:
            return f"({rand.choice(('not', '-', '+', '~'))} {inner})"
        if chance < 0.96:
            return f"({inner} {rand.choice(('and', 'or'))} {self.made(depth - 1)})"
        if chance < 0.98:
            return f"({inner} if {self.made(depth - 1)} else {self.made(depth - 1)})"
        return rand.choice(_FORMS).format(inner)

    def _index(self, depth: int) -> str:
        chance = self._rand.random()
        if chance < 0.4:
            return self._rand.choice(("0", "-1", "1", "'a'", "None", "...", "99", "True"))
        if chance < 0.7:
            return self._rand.choice((":", "1:", "::2", "::-1", ":2, 0", "..., 0", "0, 1:", "-5:"))
        return self.made(depth - 1)

    def _arguments(self, depth: int, is_longer: bool = True) -> str:
        rand = self._rand
        if not is_longer or rand.random() < 0.5:
            return ""
        if rand.random() < 0.3:
            name = rand.choice(
                ("key", "default", "axis", "dim", "out", "keepdim", "reverse", "start")
            )
            return f"{name}={self.made(depth - 1)}"
        return self.made(depth - 1)


def tried(seed: int, until: float, most: int, place: Path, most_cpu_s: float) -> dict[str, Any]:
    """Tries expressions in this process; `place` has the current one for the case that it crashes."""
    # Only here, where their Python need not be the one of the tests.
    from eagleray.remote.inspecting.inside.answers import Answers
    from eagleray.remote.inspecting.inside.expressions import evaluate
    from eagleray.remote.inspecting.parsing import parsed

    sys.setrecursionlimit(10**6)
    names = hostile_objects.objects()
    expressions = Expressions(random.Random(seed), sorted(names))
    before, ran = _state(names), hostile_objects.RAN
    count, refused, slowest, faults = 0, 0, (0.0, ""), []
    current = os.open(place, os.O_RDWR | os.O_CREAT, 0o600)

    class Asked(Answers):
        def on_evaluate(self, question: dict[str, Any]) -> dict[str, Any]:
            return self._variable("", evaluate(question["tree"], {}, names))

        def on_listed(self, question: dict[str, Any]) -> dict[str, Any]:
            return {"variables": [self._variable(name, names[name]) for name in question["names"]]}

    for name in names:
        _one(Asked(), {"op": "listed", "names": [name]})
        if ran:
            faults.append(f"listing {name} ran {ran}")
            ran.clear()
    while count < most and time.monotonic() < until and len(faults) < 20:
        expression = expressions.made()[:_LONGEST]
        count += 1
        os.pwrite(current, expression.encode()[:4000].ljust(4000), 0)
        try:
            tree = json.loads(json.dumps(parsed(expression)))
        except (SyntaxError, ValueError):
            continue
        since = time.thread_time()
        answer = _one(Asked(), {"op": "evaluate", "tree": tree})
        took = time.thread_time() - since
        refused += "error" in answer
        slowest = max(slowest, (took, expression))
        if took > most_cpu_s:
            faults.append(f"{expression}: {took:.2f} s of CPU")
        if ran:
            faults.append(f"{expression}: ran {ran}")
            ran.clear()
        if count % _COMPARED == 0 and (after := _state(names)) != before:
            changed = [name for name in names if after[name] != before[name]]
            faults.append(f"changed before expression {count} of seed {seed}: {changed}")
            before = after
    return {"count": count, "errors": refused, "slowest": slowest, "faults": faults}


def _one(answers: Any, question: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = answers.answer(question)
    json.dumps(answer)
    return answer


def _state(names: dict[str, Any]) -> dict[str, Any]:
    """Returns the state that a change of an object would change."""
    plain = (list, tuple, dict, set, str, bytes)
    return {
        name: (
            id(type(value)),
            len(value) if any(type(value) is kind for kind in plain) else None,
        )
        for name, value in names.items()
    }


def run(
    seconds: float,
    seed: int,
    most: int = sys.maxsize,
    interpreter: str = sys.executable,
    most_cpu_s: float = MOST_CPU_S,
) -> tuple[int, list[str]]:
    """How many expressions were tried, and one text for each fault; a crash is one, after which the next expression is tried."""
    count, faults, until = 0, [], time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="er-fuzz-") as folder:
        place = Path(folder) / "current"
        for number in range(20):
            left = until - time.monotonic()
            if left <= 0 or count >= most:
                break
            order = [seed + number, left, most - count, str(place), most_cpu_s]
            done = subprocess.run(
                [interpreter, "-m", __name__, json.dumps(order)],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": f"{ROOT / 'pybackend'}:{ROOT}"},
                capture_output=True,
                text=True,
            )
            if done.returncode == 0:
                result = json.loads(done.stdout)
                count += result["count"]
                faults += result["faults"]
                print(f"    {result['errors']} were refused or failed, slowest {result['slowest']}")
            else:
                expression = place.read_text().strip() if place.exists() else ""
                faults.append(f"{expression}: ended with {done.returncode}")
            if done.stderr:
                faults.append(f"printed {done.stderr[-2000:]}")
    return count, faults


def fuzz(seconds: float, seed: int) -> tuple[int, list[str]]:
    """For `npm run fuzz`: in the Python with numpy and PyTorch, if `npm run setup -- --all` has made it."""
    from tests.shared_clusters import CACHE

    with_torch = CACHE / "proofs" / "bin" / "python"
    interpreter = str(with_torch) if with_torch.exists() else sys.executable
    return run(seconds, seed, interpreter=interpreter)


def main() -> None:
    seed, seconds, most, place, most_cpu_s = json.loads(sys.argv[1])
    with contextlib.suppress(KeyboardInterrupt):
        result = tried(seed, time.monotonic() + seconds, most, Path(place), most_cpu_s)
        print(json.dumps(result), flush=True)
    # Finalizers of hostile objects are none of what is tried.
    os._exit(0)


if __name__ == "__main__":
    main()
