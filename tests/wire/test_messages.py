"""The TypeScript of the wire types: what is printed, and that it is fresh."""

from __future__ import annotations

import types
from pathlib import Path
from types import NoneType
from typing import Any, Literal

import attrs
import pytest
from eagleray.clusters import messages as clusters
from eagleray.protocol import adapter_control
from eagleray.sidecar import typescript
from eagleray.sidecar.typescript import features_of, printed, stale, write
from eagleray.wire.requests import Notification, Request

ROOT = Path(__file__).parents[2]


def test_printed_files_are_fresh() -> None:
    assert stale(ROOT) == [], "run `npm run messages`"


def test_stale_file_is_found_and_updated(tmp_path: Path) -> None:
    assert len(write(tmp_path)) == len(typescript.FEATURES)
    assert stale(tmp_path) == []
    file = tmp_path / "extension/clusters/messages.ts"
    file.write_text(file.read_text() + "// by hand\n")
    assert stale(tmp_path) == [file]
    assert write(tmp_path) == [file]


def test_every_feature_has_its_messages_printed() -> None:
    package = ROOT / "pybackend" / "eagleray"
    folders = [path.parent.relative_to(package) for path in package.rglob("messages.py")]
    assert sorted(".".join(folder.parts) for folder in folders) == sorted(typescript.FEATURES)


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


def module(**declared: Any) -> types.ModuleType:
    made = types.ModuleType("eagleray.debug.workers.messages")
    vars(made).update(declared)
    return made


def print_module(declaring: types.ModuleType, received: list[type[Any]]) -> str:
    return printed(declaring, received, features_of([declaring]))


def test_types_are_printed_as_typescript() -> None:
    text = print_module(module(DO=Request("eagleray/t/do", Everything, Inner)), [Inner])
    assert text.split("\n\n", 1)[1] == EXPECTED


def test_fields_that_the_editor_receives_are_never_optional() -> None:
    text = print_module(module(DO=Request("eagleray/t/do", Everything, NoneType)), [Everything])
    assert "  readonly given: number;\n" in text


def test_record_of_another_feature_is_imported() -> None:
    text = print_module(module(SHOW=Notification("eagleray/t/show", clusters.ClusterRef)), [])
    assert 'import type { ClusterRef } from "../../clusters/messages";' in text
    assert "interface" not in text


def test_record_of_a_lower_layer_is_printed_in_the_lowest_feature_that_uses_it() -> None:
    lower = module(DO=Request("eagleray/t/do", adapter_control.PathMapping, NoneType))
    upper = module(TO=Request("eagleray/t/to", adapter_control.PathMapping, NoneType))
    upper.__name__ = "eagleray.debug.attaching.messages"
    features = features_of([lower, upper])
    assert "interface PathMapping" in printed(lower, [], features)
    text = printed(upper, [], features)
    assert 'import type { PathMapping } from "../workers/messages";' in text
    assert "interface" not in text


def test_two_records_of_one_name_are_rejected() -> None:
    other = attrs.make_class("Inner", ["y"], frozen=True)
    with pytest.raises(AssertionError, match="two records are named Inner"):
        print_module(module(DO=Request("eagleray/t/do", other, Inner)), [])


def test_value_without_a_wire_form_is_rejected() -> None:
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
