"""Prints the options of runs: as TypeScript, into the manifest and into the documents; `--check` only names stale files."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eagleray.runs.model import RunOptions
from eagleray.runs.run_options import DeclaredOption, options_of

_HEAD = "// Printed from pybackend/eagleray/runs/model.py by `npm run messages`; do not edit.\n"
_MANIFEST: dict[str, dict[str, Any]] = {
    "truth": {"type": "boolean", "default": False},
    "number": {"type": "number", "minimum": 0, "maximum": 0, "default": 0},
    "patterns": {"type": "array", "items": {"type": "string"}, "default": []},
    "ranks": {"type": "array", "items": {"type": "integer", "minimum": 0}},
}


def option_files(root: Path, record: type = RunOptions) -> Iterator[tuple[Path, str]]:
    """The path and the text of each file with the options of `record`, below the repository `root`."""
    options = list(options_of(record))
    runs = root / "extension" / "runs"
    yield runs / "run_options.ts", _table(options)
    yield runs / "presets" / "page" / "option_texts.ts", _texts(options)
    yield (root / "package.json", _manifest(root / "package.json", options))
    yield (root / "package.nls.json", _manifest_texts(root / "package.nls.json", options))
    rows = [_row(declared) for declared in options]
    page = root / "docs" / "runs.md"
    names = "|".join(declared.option.name for declared in options)
    table = re.compile(rf"(?:^\|[^|\n]*\| `(?:{names})` \|.*\n)+", re.MULTILINE)
    yield page, table.sub(lambda _: "".join(rows), page.read_text("utf-8"))
    page = root / "docs" / "command-line.md"
    flags = "".join(f"`{_flag(declared)}`, " for declared in options)
    listed = re.compile(r"(?<=`--break FILE:LINE`, ).*?(?=\[start\])")
    yield page, listed.sub(lambda _: flags, page.read_text("utf-8"))


def _table(options: list[DeclaredOption]) -> str:
    rows = "".join(
        f'  {declared.option.name}: {{ field: "{declared.field}", kind: "{declared.kind}",'
        f" stops: {_json(declared.option.stops)}, most: {declared.option.most:g} }},\n"
        for declared in options
    )
    about = (
        "/** The options of a run by their names in launch.json; `stops`: for runs that pause. */\n"
    )
    return f"{_HEAD}\n{about}export const RUN_OPTIONS = {{\n{rows}}} as const;\n"


def _texts(options: list[DeclaredOption]) -> str:
    rows = "".join(
        f"  {declared.option.name}: {{\n"
        f"    label: l10n.t({_json(declared.option.label)}),\n"
        f"    hint: {_text(declared.option.hint)},\n"
        f"    example: {_text(declared.option.example)},\n"
        "  },\n"
        for declared in options
    )
    start = 'import { l10n } from "../../../page/frame/l10n";\n\n/** The texts of the fields. */\n'
    return f"{_HEAD}{start}export const OPTION_TEXTS = {{\n{rows}}};\n"


def _text(text: str) -> str:
    return f"l10n.t({_json(text)})" if text else '""'


def _manifest(file: Path, options: list[DeclaredOption]) -> str:
    """Options that are new come last; the properties stay in their order."""
    manifest = json.loads(file.read_text("utf-8"))
    debugger = manifest["contributes"]["debuggers"][0]
    properties = debugger["configurationAttributes"]["launch"]["properties"]
    for declared in options:
        option = declared.option
        schema = {**_MANIFEST[declared.kind], "description": f"%debugger.launch.{option.name}%"}
        if declared.kind == "number":
            schema["maximum"] = int(option.most)
        if option.manifest_default is not None:
            schema["default"] = option.manifest_default
        properties[option.name] = schema
    return f"{json.dumps(manifest, indent=2, ensure_ascii=False)}\n"


def _manifest_texts(file: Path, options: list[DeclaredOption]) -> str:
    texts = json.loads(file.read_text("utf-8"))
    texts |= {f"debugger.launch.{each.option.name}": each.option.text for each in options}
    return f"{json.dumps(texts, indent=2, ensure_ascii=False)}\n"


def _row(declared: DeclaredOption) -> str:
    option = declared.option
    more = f" [More]({option.link})." if option.link else ""
    return f"| {option.text}{more} | `{option.name}` | `{_flag(declared)}` |\n"


def _flag(declared: DeclaredOption) -> str:
    return f"{declared.option.flag} {declared.option.metavar}".strip()


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def main(arguments: list[str]) -> int:
    root = Path(__file__).resolve().parents[1]
    stale = [
        (file, text)
        for file, text in option_files(root)
        if not file.exists() or file.read_text("utf-8") != text
    ]
    for file, text in stale:
        if "--check" in arguments:
            print(f"{file.relative_to(root)} is stale: run `npm run messages`")
        else:
            file.write_text(text, "utf-8")
            print(f"printed {file.relative_to(root)}")
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
