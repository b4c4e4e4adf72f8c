"""Parsers of files that others may have written: state of runs, lists, records of adapters, presets, scripts."""

from __future__ import annotations

import json
import posixpath
from pathlib import Path
from typing import Any

from eagleray.adapter_client.held_elsewhere import held_elsewhere
from eagleray.clusters.stored_lists import StoredClusters, StoredHosts
from eagleray.common.errors import EaglerayError
from eagleray.debug.attaching.ignored_breakpoints import _read as ignored_breakpoints
from eagleray.debug.source_mapping.stored_mappings import StoredMappings
from eagleray.remote.injected import settings
from eagleray.remote.injected.worker_patterns import matchable_names, split_patterns
from eagleray.runs import sbatch_arguments
from eagleray.runs.handlers import wire_run
from eagleray.runs.presets import user_presets
from eagleray.runs.presets.checkout.declared import declared
from eagleray.runs.presets.checkout_files import Files
from eagleray.runs.presets.job_submission import with_variables
from eagleray.runs.presets.program_source import read_program
from eagleray.runs.presets.recognition import metadata_version
from eagleray.runs.presets.yaml_tree import read_yaml
from eagleray.runs.records import RunRecord, load_if_readable
from eagleray.runs.run_discovery import in_folder, joined_in
from eagleray.runs.scripts.bash_tokens import commands_of
from eagleray.runs.scripts.script import read_script
from eagleray.supervisor import nsight_refusal
from eagleray.wire.requests import Wire

from tests.fuzz.target import Target, of_json
from tests.fuzz.targets.cluster import TESTS
from tests.fuzz.targets.scratch import written

PLAN = {
    "kind": "program",
    "argv": ["python", "train.py"],
    "cwd": "/home/a",
    "name": "train.py",
    "env": {"A": "1"},
    "cluster": "",
    "breakpoints": [{"path": "/home/a/train.py", "lines": [{"line": 3, "condition": "x > 1"}]}],
    "workers": ["Policy*"],
    "ranks": [0, 1],
    "post_mortem": False,
    "children": False,
    "everywhere": False,
    "preset": "",
    "overrides": [],
    "workspace": "/home/a",
    "copy_of": "",
    "copy_text": "",
    "inner_copies": [["/w/a.sh", "echo\n"]],
    "profile": {"workers": ["*"], "options": {"gpu-metrics": ""}, "seconds": 1.5},
    "python": "",
}
STATE = {
    "phase": "running",
    "started": 1.5,
    "ended": 0.0,
    "code": None,
    "note": "",
    "host": "n1",
    "keeper": {"pid": 3, "born": 1.0},
    "cluster": "http://127.0.0.1:8265",
    "workers": [
        {
            "worker_id": "w",
            "pid": 3,
            "kind": "worker",
            "name": "p",
            "state": "free",
            "files": ["/a"],
        }
    ],
    "lines": [{"path": "/a", "line": 3, "state": "verified"}],
    "profile": {
        "folder": "/a",
        "workers": [
            {"key": "k", "worker_id": "w", "pid": 3, "name": "n", "node": "x", "state": "armed"}
        ],
    },
}
HELD = {
    "host": "elsewhere",
    "written": 1000.0,
    "workers": [
        {
            "session": "s",
            "worker_id": "w",
            "cluster": "c",
            "name": "n",
            "pid": 3,
            "state": "stopped",
            "editor": False,
            "held_s": 1.0,
            "rank": "",
            "socket": "/x",
            "stop": {
                "reason": "breakpoint",
                "path": "/a",
                "line": 3,
                "function": "f",
                "exception": "",
                "thread_id": 1,
            },
        }
    ],
}
RULE = {"cluster": "c", "session": "s", "path": "/a", "line": 3, "seen_line": 4}
PRESET = {
    "format": 1,
    "name": "mine",
    "framework": "verl",
    "answers": {},
    "words": ["+a.b=1"],
    "env": {"A": "1"},
}
SETTINGS = {
    "run": "0123456789ab",
    "verifier": "ab" * 32,
    "package": "_eagleray_run_1",
    "path": "/p",
    "folder": "/f",
    "host": "n1",
    "wait_s": 15,
    "breakpoints": [{"path": "/a.py", "lines": [{"line": 3}]}],
    "workers": ["Policy*"],
    "ranks": [0],
    "post_mortem": True,
}
TRAINER = """from dataclasses import dataclass
from omegaconf import OmegaConf

@dataclass
class Fields:
    max_steps: int = 1

ALL = [Fields]

def main():
    parser.add_argument('--max-steps', action='store_true')
    OwnParser(ALL)
    return {'trainer': {'max_steps': 1}}, OmegaConf.from_dotlist([])
"""
SCRIPT = """#!/bin/bash
#SBATCH --nodes=2
set -x
export HF_TOKEN=hf_x A="b c $(id -u)"
cat <<'EOF' > out.txt
python not.py
EOF
f() { python inner.py "$@"; }
ARGS=(a.b=1 "c d" $X)
if [[ $1 == x ]]; then
  python -m verl.trainer.main_ppo data.train=$HOME/x \\
    "trainer.n=$N" ${ARGS[@]} 2>&1 | tee log   # comment
fi
ray job submit --runtime-env-json='{"env_vars": {"A": "1"}}' -- python3 train.py
"""
REFUSALS = sorted((TESTS / "runs" / "recorded").glob("nsight-*.txt"))


def run_state(text: str) -> None:
    """A run that can be read can be shown."""
    _run({"state.json": text, "plan.json": json.dumps(PLAN)})


def run_plan(text: str) -> None:
    _run({"state.json": json.dumps(STATE), "plan.json": text})


def _run(files: dict[str, str]) -> None:
    for name, text in files.items():
        path = written(f"runs/0123456789ab/{name}", text)
    found = load_if_readable(RunRecord("0123456789ab", path.parent))
    if found is not None:
        json.dumps(Wire().plain(wire_run(found)))


def stored_lists(text: str) -> None:
    path = written("lists/list.json", text)
    for one in StoredClusters(path).addresses():
        assert one.isprintable()
    for one in StoredHosts(path).hosts():
        assert not one.startswith("-")


def kept_mappings(text: str) -> None:
    for mapping in StoredMappings(written("lists/mappings.json", text)).of("c"):
        posixpath.join(mapping.remote, mapping.local)


def held_records(text: str) -> None:
    path = written("held/elsewhere.json", text)
    for state in held_elsewhere(path.parent, now=1010.0):
        assert state.socket == "" and state.host.isprintable()
        json.dumps(state.worker_id)


def ignored(text: str) -> None:
    for rule in ignored_breakpoints(written("lists/ignored.json", text)):
        assert isinstance(rule.path, str) and isinstance(rule.line, int), rule


def announced(text: str) -> None:
    """A debug proxy says in a file where it listens."""
    path = written("proxies/proxy-7.json", text)
    for proxy in in_folder(path.parent):
        assert isinstance(proxy.port, int)
    joined_in(path.parent)


def preset(text: str) -> None:
    """A preset that is taken can be shared, and is the same then."""
    found = user_presets.of_text(text)
    assert user_presets.of_text(user_presets.to_text(found)) == found
    assert all(word.isprintable() for word in (found.name, *found.arguments, *found.env.values()))


def kept_presets(text: str) -> None:
    presets = user_presets.OwnPresets(Path(written("presets/x", "").parent))
    written(f"presets/{presets._file('w').name}", text)
    presets.of("w")


def declared_keys(text: str) -> None:
    """A key that is found lies on a line of the program."""
    file = Path(written("declared/program.py", text))
    found = declared(file, ["--config", "a.yaml"], Files([file.parent]))
    for key in ("max_steps", "--max-steps", "trainer.max_steps"):
        if found and (place := found.find(key)):
            assert 1 <= place.line <= len(text.splitlines())


def script(text: str) -> None:
    """Words lie where they say; what a script starts is found without running it."""
    plain = text.replace("\r\n", "\n")
    for command in commands_of(plain):
        for word in command.tokens:
            assert plain[word.start : word.end] == word.raw
    found = read_script(text, ["x", "y z"])
    found.assigned("ARGS")
    found.uses("A")
    if found.launch is not None:
        with_variables(found.launch, {"A": "1"})
    read_program(text, "a.b")
    metadata_version(text)


def configuration(text: str) -> None:
    """Every key of a YAML file is on a line of it."""
    lines = max(len(text.splitlines()), 1)
    nodes = [read_yaml(text)]
    for _ in range(2000):
        if not nodes:
            break
        node = nodes.pop()
        assert 0 < node.line <= lines
        nodes += (node.children or {}).values()


def sbatch(text: str) -> None:
    words = text.split(" ")
    at = sbatch_arguments.script_index(words)
    assert 0 <= at <= len(words)


def refusal(text: str) -> None:
    found = nsight_refusal.nsight_refusal(written("output/output.log", text))
    assert found is None or found.why.isprintable()


def run_settings(text: str) -> None:
    """Inside the program of a run the variable may be anything; wrong settings end nothing."""
    found = settings.read({"EAGLERAY_RUN": text})
    if found is not None:
        _ = found.purpose, found.filters, found.site


def worker_patterns(said: Any) -> None:
    if isinstance(said, list):
        for pattern in split_patterns(said):
            matchable_names(pattern, pattern, pattern)


TARGETS = [
    of_json("run-state", run_state, [STATE]),
    of_json("run-plan", run_plan, [PLAN]),
    of_json(
        "stored-lists",
        stored_lists,
        [{"version": 1, "clusters": [{"address": "http://h:1"}], "hosts": [{"host": "a@b"}]}],
    ),
    of_json("kept-mappings", kept_mappings, [{"c": [{"remote": "/r", "local": "/l"}]}]),
    of_json("held-records", held_records, [HELD]),
    of_json("ignored-breakpoints", ignored, [[RULE]]),
    of_json(
        "proxy-files", announced, [{"host": "127.0.0.1", "port": 4000, "gcs": "127.0.0.1:6379"}]
    ),
    of_json("presets", preset, [PRESET], (EaglerayError,)),
    of_json("kept-presets", kept_presets, [{"version": 1, "workspace": "w", "presets": [PRESET]}]),
    Target(
        "declared-keys",
        "text",
        declared_keys,
        [TRAINER],
        (),
        ("class A(B):\n", "OmegaConf.from_cli(", "A = [A]\n"),
    ),
    Target(
        "scripts",
        "text",
        script,
        [SCRIPT, "python a.py x=1 'y z'\n"],
        (),
        (
            "$(",
            "${",
            "<<EOF\n",
            "EOF\n",
            "\\\n",
            "'",
            '"',
            "`",
            "()",
            "{",
            "}",
            "#",
            "python ",
            "-m ",
            "export ",
            "=(",
            "&&",
            "||",
            "$'",
        ),
    ),
    Target(
        "configurations",
        "text",
        configuration,
        ["a: &x {b: [1, {c: d}]}\ne:\n  - f: 'g'\n    h: |\n      i\n  - *x\n<<: *x\n"],
        (),
        (
            ": ",
            "- ",
            "\n  ",
            "{",
            "}",
            "[",
            "]",
            "&x ",
            "*x",
            "<<: ",
            "|\n",
            "'",
            '"',
            " #",
            "---\n",
        ),
    ),
    Target(
        "sbatch-words",
        "text",
        sbatch,
        ["sbatch -N 2 --export=ALL,A ray.sub x", "sbatch --wrap x"],
        (),
        ("--export", "=", "-N", " -- ", "--"),
    ),
    Target(
        "nsight-refusals",
        "text",
        refusal,
        [path.read_text() for path in REFUSALS],
        (),
        (
            "nsight profile failed to run with the following error message: b'",
            "b'",
            "'",
            "\\x",
            ", 1",
            "[Node ",
        ),
    ),
    of_json(
        "run-settings",
        run_settings,
        [SETTINGS],
        # The start of a program of a run catches every exception and prints one line.
        (Exception,),
    ),
    Target("worker-patterns", "value", worker_patterns, [["Policy*", "a.b:C[0-9]", "!x"]]),
]
