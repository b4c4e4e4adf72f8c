"""Expressions that may be evaluated in a program by default run no code of it, change nothing, and need little memory."""

import collections
import enum
import functools
import io
import threading
import types
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from eagleray.remote.injected import jsonlines
from eagleray.remote.inspecting.inside import exceptions, expressions, frames, limits
from eagleray.remote.inspecting.inside.answers import Answers
from eagleray.remote.inspecting.inside.attributes import attribute
from eagleray.remote.inspecting.inside.descriptions import described
from eagleray.remote.inspecting.inside.limits import Refused
from eagleray.remote.inspecting.inspected_process import Inspected
from eagleray.remote.inspecting.parsing import parsed
from eagleray.remote.inspecting.ptrace_thread import NotStarted

from tests.remote.inspecting.test_processes import ends, program, python, wait_until

CALLED: list[str] = []


def evaluate(expression: str, global_names: dict[str, Any], local_names: dict[str, Any]) -> Any:
    return expressions.evaluate(parsed(expression), global_names, local_names)


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


class Text(str):
    """A text of the program, which looks like one of Python's."""

    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        CALLED.append("__eq__")
        return True

    def __format__(self, form: str) -> str:
        CALLED.append("__format__")
        return ""

    def __str__(self) -> str:
        CALLED.append("__str__")
        return ""


class Raw(io.RawIOBase):
    @property
    def name(self) -> str:
        CALLED.append("name")
        return ""

    def readable(self) -> bool:
        return True


class Names(dict[str, Any]):
    def __getitem__(self, name: str) -> Any:
        CALLED.append("__getitem__")
        return super().__getitem__(name)

    def keys(self) -> Any:
        CALLED.append("keys")
        return super().keys()


class OfThread(threading.local):
    def __init__(self) -> None:
        CALLED.append("of thread")


def renamed() -> Any:
    kind = type("Renamed", (), {Text("plain"): 5})
    kind.__name__, kind.__qualname__ = Text("Renamed"), Text("Renamed")
    return kind


def named_function() -> Any:
    def function() -> None:
        pass

    function.__qualname__ = Text("function")
    return function


def named_module() -> types.ModuleType:
    module = types.ModuleType("module")
    module.__dict__["__name__"] = Text("module")
    return module


def held_names() -> Any:
    made = SimpleNamespace()
    made.__dict__.update({Text("rank"): 1})
    return made


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


@pytest.mark.parametrize(
    "value",
    [
        *(renamed(), renamed()(), named_function(), named_module(), held_names(), OfThread()),
        *(io.BufferedReader(Raw()), {Text("a"): 1}, [Text("a")], KeyError(Text("a"))),
    ],
    ids=lambda value: type(value).__name__,
)
def test_value_with_code_in_its_names_is_read_without_it(value: Any) -> None:
    CALLED.clear()
    answers = Answers()
    assert answers._variable("value", value)["value"]
    for expression in ("value.rank", "value.name", "value.mode", "value.plain", "value['a']"):
        with pytest.raises((Refused, AttributeError, LookupError, TypeError)):
            evaluate(expression, {}, {"value": value})
    for expression in ("value.__class__", "str(value)", "type(value)", "value is value"):
        answers._variable(expression, evaluate(expression, {}, {"value": value}))


def test_names_in_a_mapping_of_the_program_are_found_without_its_code() -> None:
    names = Names(rank=3)
    assert evaluate("rank + 1", {}, names) == 4
    assert evaluate("rank", names, {}) == 3
    assert frames.data_first(names) == ([("rank", 3)], 1)


BUFFER = [[0] * 2000] * 5000
MUCH = {
    "buffer": BUFFER,
    "huge": (1 << 3_000_000) - 1,
    "half": (1 << 1_000_000) - 1,
    "by_number": {1: 2},
    "long_list": list(range(1_000_000)),
    "endless": range(10**15),
    "text": "ab" * 5_000_000,
    # All have the same hash, so that a set compares each with each.
    "same_hash": [step * (2**61 - 1) for step in range(60_000)],
}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        *(("buffer and buffer[0][0]", 0), ("not buffer", False), ("bool(buffer)", True)),
        *(("len(buffer)", 5000), ("5 in buffer", False), ("buffer is None", False)),
        *(("1 if buffer else 2", 1), ("buffer or 3", BUFFER), ("buffer[7][3]", 0)),
    ],
)
def test_truth_and_length_of_a_large_list_need_no_look_at_its_items(
    expression: str, value: object
) -> None:
    limits.begin()
    assert evaluate(expression, {}, {"buffer": BUFFER}) is not None
    assert evaluate(expression, {}, {"buffer": BUFFER}) == value
    # Less than the items of one list.
    assert limits._QUESTION.items < 2 * (len(BUFFER) + 100)


@pytest.mark.parametrize(
    "expression",
    [
        *("buffer == buffer[:]", "buffer + buffer", "[0] in buffer", "buffer.count([0])"),
        *("huge // half", "huge % half", "huge == half", "by_number[huge]", "huge * 2"),
        *(
            "sorted(long_list)",
            "set(long_list)",
            "sum(long_list)",
            "max(long_list)",
            "5.5 in endless",
        ),
        *("text * 3", "text == text", "text.split('a')", "text.count(text)", "set(same_hash)"),
    ],
)
def test_expression_that_goes_through_much_is_refused(expression: str) -> None:
    limits.begin()
    with pytest.raises(Refused):
        evaluate(expression, {}, MUCH)


def test_deadline_of_a_question_counts_cpu_time_and_ends_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr(limits, "thread_time", lambda: now[0])
    limits.begin()
    assert evaluate("[1, 2][0]", {}, {}) == 1
    now[0] = limits.CPU_S + 0.01
    with pytest.raises(Refused, match="of the program's CPU time"):
        evaluate("[1, 2][0]", {}, {})


def test_question_ends_with_its_client() -> None:
    limits.begin(lambda: True)
    with pytest.raises(limits.ClientGone):
        evaluate("sorted(items)", {}, {"items": list(range(20_000))})
    limits.begin()


def test_exception_that_holds_itself_is_described_without_an_end() -> None:
    error = ValueError("first")
    error.args = (error, *[error] * 1000)
    assert described(error).startswith("ValueError(ValueError(")
    assert len(described(error)) < 20_000


def test_parser_prints_no_warning_and_bounds_the_expression(
    recwarn: pytest.WarningsRecorder,
) -> None:
    assert parsed(r"'\d' is 1")[0] == "Compare"
    with pytest.raises(ValueError, match="at most"):
        parsed("1 + " * 1000 + "1")
    with pytest.raises((Refused, ValueError)):
        evaluate("not " * 400 + "1", {}, {})
    assert list(recwarn) == []


def test_size_that_a_program_has_cached_is_an_attribute() -> None:
    user = User()
    vars(user)["size"] = 8
    assert attribute(user, "size") == 8


@pytest.mark.parametrize("name", ["px", "own", "of_meta", "OfMeta", "u", "color", "row", "oops"])
def test_value_is_listed_without_its_code(name: str) -> None:
    value = {**names(), "oops": Oops(1)}[name]
    assert Answers()._variable("value", value)["name"] == "value"
    assert frames.data_first({"value": value, "text": "a"})[1] == 2


def test_causes_of_an_exception_are_read_without_its_code() -> None:
    error, cause = ValueError(1), Oops(2)
    error.__cause__ = cause
    assert len(exceptions._causes(error)) == 2


@pytest.mark.parametrize("value", [set(), frozenset(), {1}, frozenset((1,))])
def test_set_is_described_as_python_writes_it(value: object) -> None:
    assert described(value) == repr(value)


class Dynamic:
    def __getattr__(self, name: str) -> Any:
        CALLED.append(name)
        return 1


def test_attribute_that_own_code_may_have_is_refused_rather_than_denied() -> None:
    with pytest.raises(Refused, match="runs code of Dynamic"):
        attribute(Dynamic(), "loss")
    with pytest.raises(AttributeError):
        attribute(Slotted(), "loss")
    assert CALLED == []


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


# As a site has it that ends what an audit hook finds.
AUDITED = """
def hook(event, _):
    if armed and threading.get_ident() != main and event == "socket.bind":
        seen.append(event)
        raise SystemExit(5)
main, armed, seen = threading.get_ident(), [1], []
sys.addaudithook(hook)
sys.stdin.readline()
assert seen
"""


def test_audit_hook_that_raises_system_exit_does_not_end_the_program() -> None:
    with python(program(AUDITED)) as process:
        with pytest.raises(NotStarted, match="SystemExit"):
            Inspected(process.pid)
        assert ends(process) == (0, "went on 7\n", "")


def test_clients_that_leave_end_their_threads() -> None:
    with python(program("sys.stdin.readline()")) as process:
        first = Inspected(process.pid)
        first.ask("threads")
        for _ in range(20):
            # A few wait to be accepted, others are rejected.
            try:
                left = Inspected(process.pid)
            except BlockingIOError:
                continue
            jsonlines.send(left._socket, {"op": "evaluate", "frame": 0, "tree": WORK})
            left.close()
        wait_until(lambda: threads_of(process.pid) <= 3)
        assert first.ask("threads")["threads"]
        first.close()
        assert ends(process) == (0, "went on 7\n", "")


WORK = parsed("sorted(list(range(30_000)))[0]")


def threads_of(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/task").iterdir()))
