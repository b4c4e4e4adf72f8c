"""Expressions that may be evaluated in a program by default run no code of it, change nothing, and need little memory."""

import collections
import enum
import functools
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from eagleray.inspecting.inside import exceptions, frames
from eagleray.inspecting.inside.answers import Answers
from eagleray.inspecting.inside.attributes import attribute
from eagleray.inspecting.inside.descriptions import described
from eagleray.inspecting.inside.expressions import evaluate
from eagleray.inspecting.inside.operations import Refused
from eagleray.inspecting.questions import Inspected

from tests.inspecting.test_processes import ends, program, python

CALLED: list[str] = []


class Descriptor:
    def __get__(self, owner: object, kind: type) -> int:
        CALLED.append("__get__")
        return 5


class User:
    """Each of its methods notes that it was called."""

    plain = 3
    custom = Descriptor()

    def __init__(self) -> None:
        self.shape = (2, 3)

    def __eq__(self, other: object) -> bool:
        CALLED.append("__eq__")
        return False

    def __hash__(self) -> int:
        return 1

    def __len__(self) -> int:
        CALLED.append("__len__")
        return 3

    def __bool__(self) -> bool:
        CALLED.append("__bool__")
        return True

    def __index__(self) -> int:
        CALLED.append("__index__")
        return 0

    @functools.cached_property
    def size(self) -> int:
        CALLED.append("size")
        return 1

    @property
    def device(self) -> str:
        CALLED.append("device")
        return "cpu"


class Proxy:
    def __getattribute__(self, name: str) -> Any:
        CALLED.append(name)
        raise RuntimeError("outside of its context")


class OwnDictionary:
    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        CALLED.append("__dict__")
        return {}


class Meta(type):
    def __getattribute__(cls, name: str) -> Any:
        CALLED.append(name)
        return super().__getattribute__(name)

    def __eq__(cls, other: object) -> bool:
        CALLED.append("__eq__")
        return True

    __hash__ = type.__hash__

    def __instancecheck__(cls, value: object) -> bool:
        CALLED.append("__instancecheck__")
        return True


class OfMeta(metaclass=Meta):
    pass


class Oops(Exception):
    @property
    def args(self) -> tuple[Any, ...]:  # type: ignore[override]
        CALLED.append("args")
        return ()

    def __bool__(self) -> bool:
        CALLED.append("__bool__")
        return False


class Row(NamedTuple):
    rank: int


class Slotted:
    __slots__ = ("rank",)

    def __init__(self) -> None:
        self.rank = 4


class Color(enum.Enum):
    RED = 1


@pytest.fixture(autouse=True)
def nothing_is_called():
    CALLED.clear()
    yield
    assert CALLED == []


def names() -> dict[str, Any]:
    user = User()
    values = {
        "u": user,
        "users": [user],
        "by_user": {user: "a", 1: "b", "c": 3},
        "some_users": {user, 1},
        "px": Proxy(),
        "own": OwnDictionary(),
        "of_meta": OfMeta(),
        "OfMeta": OfMeta,
        "User": User,
        "row": Row(2),
        "counts": collections.defaultdict(int, a=1),
        "slotted": Slotted(),
        "Color": Color,
        "color": Color.RED,
        "queue": collections.deque([1, 2]),
        "long": range(10**12),
        "huge": 10**100_000,
        "text": "abc",
        "part": slice(user),
        "space": SimpleNamespace(rank=9),
    }
    # Python compares keys of the same hash.
    CALLED.clear()
    return values


@pytest.mark.parametrize(
    "expression",
    [
        *("users.count(1)", "users.index(1)", "u in users", "users == [1]", "1 in users"),
        *("len(u)", "bool(u)", "not u", "u and 1", "[1, 2][u]", "text[u:]", "text[part]"),
        *("u.size", "u.device", "u.custom", "User.custom", "own.a.b", "u == 1", "-u"),
        *("isinstance(3, OfMeta)", "isinstance(1, (bool, OfMeta))", "of_meta + 1"),
        *("type('X', (User,), {})", "type('X', (User,), text)", "sorted([1], key=User)"),
        *("sorted(users)", "max(1, 2, key=User)", "list(User)", "set(users)", "by_user[u]"),
        *("'a' * 3000000000", "3000000000 * [1]", "(1,) * 10**10", "queue * 3000000000"),
        *("'%01000000000d' % 1", "b'%01000000000d' % 1", "10 ** 10", "1 << 10", "huge * huge"),
        *("list(long)", "sum(long)", "1.5 in long", "max(long)", "sorted(long)"),
        *("round(5, -1000000000)", "int('9' * 1000)", "sum([[1], [2]], [])", "dict(**by_user)"),
        *("f'{u}'", "text.split(**by_user)", "text.join(users)", "text.format(u)"),
    ],
)
def test_expression_that_may_run_code_or_need_much_is_refused(expression: str) -> None:
    values = names()
    with pytest.raises((Refused, AttributeError)):
        evaluate(expression, {}, values)
    assert list(vars(values["u"])) == ["shape"]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        *(("len(users)", 1), ("len(by_user)", 3), ("len(long)", 10**12), ("len(queue)", 2)),
        *(("u.shape[1] * 2", 6), ("u.plain", 3), ("User.plain", 3), ("row.rank", 2)),
        *(("len(row)", 1), ("len(counts)", 1)),
        *(("slotted.rank", 4), ("color.value", 1), ("Color.RED.name", "RED"), ("space.rank", 9)),
        *(("by_user[1]", "b"), ("by_user.get('c')", 3), ("by_user.get(5, 6)", 6)),
        *(("1 in some_users", True), ("2 in some_users", False), ("2 not in some_users", True)),
        *(("'c' in by_user", True), ("7 in long", True), ("text[-2:]", "bc")),
        *(("isinstance(u, User)", True), ("isinstance(1, (float, int))", True)),
        *(("isinstance(px, User)", False), ("type(u) is User", True), ("text * 2", "abcabc")),
        *(("sum([1, 2.5])", 3.5), ("sorted(['b', 'a'], key=len)", ["b", "a"])),
        *(("sorted([2, 1], reverse=True)", [2, 1]), ("text.split('b')", ["a", "c"])),
        *(("max([1, 3], default=0)", 3), ("queue[0]", 1), ("round(2.345, 1)", 2.3)),
        *(("1 < 2 < 3", True), ("u is None", False), ("-3 % 5 + 7 // 2", 5)),
    ],
)
def test_expression_that_only_reads_has_its_value(expression: str, value: object) -> None:
    assert evaluate(expression, {}, names()) == value


def test_size_that_a_program_has_cached_is_an_attribute() -> None:
    user = User()
    vars(user)["size"] = 8
    assert attribute(user, "size") == 8


@pytest.mark.parametrize("name", ["px", "own", "of_meta", "OfMeta", "u", "color", "row", "oops"])
def test_value_is_listed_without_its_code(name: str) -> None:
    value = {**names(), "oops": Oops(1)}[name]
    assert Answers()._variable("value", value)["name"] == "value"
    assert len(frames.data_first({"value": value, "text": "a"})) == 2


def test_causes_of_an_exception_are_read_without_its_code() -> None:
    error, cause = ValueError(1), Oops(2)
    error.__cause__ = cause
    assert len(exceptions._causes(error)) == 2


def test_large_number_and_deep_value_are_described_briefly() -> None:
    assert described(10**100_000) == "<int of 332193 bits>"
    assert len(described([[["x" * 400] * 20] * 20] * 20)) < 20_000


def test_local_that_is_a_proxy_is_listed_in_a_program_and_nothing_of_it_runs() -> None:
    way = (
        "called = []\n"
        "class Proxy:\n"
        "    def __getattribute__(self, name): called.append(name); raise RuntimeError(name)\n"
        "    def __len__(self): called.append('len'); return 3\n"
        "proxy = Proxy()\n"
        "sys.stdin.readline()\n"
        "assert called == [], called"
    )
    with python(program(way)) as process:
        inspected = Inspected(process.pid)
        try:
            variables = inspected.ask("variables", frame=0)["variables"]
            assert {"proxy", "step"} <= {variable["name"] for variable in variables}
            for expression in ("proxy.a", "len(proxy)", "[proxy].count(1)", "'a' * 3000000000"):
                assert "error" in inspected.ask("evaluate", frame=0, expression=expression)
        finally:
            inspected.close()
        assert ends(process) == (0, "went on 7\n", "")
