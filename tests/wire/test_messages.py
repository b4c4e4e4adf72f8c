"""The TypeScript of the wire types: what is printed, and that it is fresh."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any, Literal

import attrs
import pytest
from eagleray.features.clusters import messages as clusters
from eagleray.sidecar import typescript
from eagleray.sidecar.typescript import methods_of, printed, stale, write

ROOT = Path(__file__).parents[2]


def test_the_printed_files_are_fresh() -> None:
    assert stale(ROOT) == [], "run `npm run messages`"


def test_a_stale_file_is_found_and_mended(tmp_path: Path) -> None:
    assert len(write(tmp_path)) == len(typescript.FEATURES)
    assert stale(tmp_path) == []
    file = tmp_path / "extension/features/clusters/messages.ts"
    file.write_text(file.read_text() + "// by hand\n")
    assert stale(tmp_path) == [file]
    assert write(tmp_path) == [file]


def test_every_feature_has_its_messages_printed() -> None:
    written = sorted(p.parent.name for p in ROOT.glob("pybackend/eagleray/features/*/messages.py"))
    assert written == sorted(typescript.FEATURES)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('ADD = "eagleray/c/add"  # AddCluster -> Cluster', ("AddCluster", "Cluster")),
        ('LIST = "eagleray/c/list"  # {} -> Clusters', ("{}", "Clusters")),
        ('A = "eagleray/c/a"  # P (a remark) -> R, with $/progress', ("P", "R")),
        ('F = "eagleray/c/f"  # P -> {}; text comes as T until then', ("P", "{}")),
        ('L = (\n    "eagleray/c/l"  # P -> R, of a long line\n)', ("P", "R")),
        ('C = "eagleray/c/c"  # notification to the editor: V', ("", "V")),
    ],
)
def test_the_comment_behind_a_method_names_its_types(line: str, expected: tuple[str, str]) -> None:
    (method,) = methods_of(line)
    assert (method.params, method.value) == expected


def test_a_method_without_types_is_refused() -> None:
    with pytest.raises(ValueError, match="ADD"):
        list(methods_of('ADD = "eagleray/c/add"  # adds a cluster'))


def test_a_type_that_does_not_exist_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'ADD = "eagleray/c/add"  # Nonsense -> Cluster'
    monkeypatch.setattr(typescript.inspect, "getsource", lambda _: text)
    for name in [n for n, v in vars(clusters).items() if str(v).startswith("eagleray/")]:
        monkeypatch.delattr(clusters, name)
    monkeypatch.setattr(clusters, "ADD", "eagleray/c/add", raising=False)
    with pytest.raises(AssertionError, match="Nonsense"):
        printed(clusters)


def test_a_method_whose_line_cannot_be_read_is_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "MORE", "eagleray/c/more", raising=False)
    with pytest.raises(AssertionError, match="cannot be read"):
        printed(clusters)


@attrs.frozen
class Inner:
    """Inner."""

    x: int


@attrs.frozen
class Everything:
    """One of each."""

    text: str
    number: float
    flag: bool
    maybe: str | None
    word: Literal["a", "b-c"]
    many: list[Inner]
    several: list[str | None]
    table: dict[str, list[Inner]]
    given: int = 3


def test_how_each_type_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType(Everything.__module__)
    vars(module).update(DO="eagleray/t/do", Inner=Inner, Everything=Everything)
    source = 'DO = "eagleray/t/do"  # Everything -> Inner'
    monkeypatch.setattr(typescript.inspect, "getsource", lambda _: source)
    text = printed(module).split("\n\n", 1)[1]
    assert text == EXPECTED


def test_a_value_that_has_no_wire_form_is_refused() -> None:
    kind: Any = set[int]
    with pytest.raises(AssertionError, match="no wire form"):
        typescript._type(kind)


EXPECTED = """\
export const DO = request<Everything, Inner>("eagleray/t/do");

/** Inner. */
export interface Inner {
  readonly x: number;
}

/** One of each. */
export interface Everything {
  readonly text: string;
  readonly number: number;
  readonly flag: boolean;
  readonly maybe: string | null;
  readonly word: "a" | "b-c";
  readonly many: readonly Inner[];
  readonly several: readonly (string | null)[];
  readonly table: Readonly<Record<string, readonly Inner[]>>;
  readonly given?: number;
}
"""
