"""Analyzes the program of a debug run: script, training line, configuration, versions; executes nothing."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from attrs import evolve, frozen

from eagleray.common.l10n import t
from eagleray.remote.injected.outside_files import readable_text
from eagleray.runs.model import RunPlan
from eagleray.runs.presets.checkout.keys import CheckoutKeys, checkout_keys
from eagleray.runs.presets.checkout_files import (
    entered_folder,
    fixed_part,
    near,
    roots,
    text_of,
)
from eagleray.runs.presets.elsewhere import Elsewhere, elsewhere_in, elsewhere_of, handed_over
from eagleray.runs.presets.families import recognised_by_keys
from eagleray.runs.presets.framework_table import FrameworkTable
from eagleray.runs.presets.framework_table_file import tables
from eagleray.runs.presets.program_source import ProgramFiles
from eagleray.runs.presets.recognition import (
    DetectedVersion,
    Identity,
    Recognised,
    chosen,
    identify,
    metadata_version,
    modules_in,
    parse_version,
    purpose_of,
)
from eagleray.runs.program_kind import script_at
from eagleray.runs.scripts.launch_lines import (
    Launch,
    LineWord,
    ScriptStart,
    launch_of,
    value_of,
)
from eagleray.runs.scripts.script import Assignment, Script
from eagleray.runs.scripts.script_edits import copy_number
from eagleray.runs.scripts.script_tree import ScriptFile, ScriptNode, ScriptTree

_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "sbatch"})
# The variable that holds the training line of scripts such as NeMo RL's `ray.sub`.
COMMAND = "COMMAND"
_USE = re.compile(r"\$\{?COMMAND\b")
_LARGEST = 2**20
_CONFIG = re.compile(r"(?!pkg:)[^$`*]+\.(?:ya?ml|json|toml)")
# How many programs of a script are searched for the keys of a trainer.
_MOST_PROGRAMS = 4


def analyze(plan: RunPlan, python: str, now: datetime) -> ProgramAnalysis:
    """Returns what can be read of the program that `plan` starts; `python` is the interpreter whose packages it has."""
    cwd = Path(plan.cwd)
    stamp = now.strftime("%m%d-%H%M%S")
    if script := _script_argument(plan, cwd):
        return _ScriptAnalysis(plan, script, python).analysis(stamp)
    tokens = tuple(map(LineWord, plan.command))
    launch = launch_of(tokens)
    identity = _Frameworks([cwd], python).of(launch) if launch else Identity(folders=(cwd,))
    line = launch or Launch(tokens[1:], tokens, plan.command[0], module=False)
    recognised, keys = _recognised(identity, line, identity.folders, python, _hints(plan, None))
    if launch is None and recognised and recognised.table.syntax != "none":
        recognised = keys = None
    elsewhere = (handed_over if recognised else elsewhere_of)(plan.command)
    return ProgramAnalysis(
        launch=launch,
        recognised=recognised,
        keys=keys,
        config=_config(launch, identity.folders),
        missing_config=_missing_config(launch, identity.folders),
        stamp=stamp,
        remark="" if recognised else _remark(identity, launch.target if launch else ""),
        elsewhere=elsewhere,
    )


def _hints(plan: RunPlan, script: Script | None) -> list[str]:
    """Returns possible names of a configuration: arguments of the script, then the values that it assigns."""
    assigned = [assignment.raw for assignment in script.assignments] if script else []
    return [*plan.command, *(name for raw in assigned for name in re.findall(r"[\w.-]+", raw))]


class _ScriptAnalysis:
    """A script, the scripts that it starts, and COMMAND if none of them starts a trainer."""

    def __init__(self, plan: RunPlan, name: str, python: str) -> None:
        cwd = Path(plan.cwd)
        file = cwd / name
        self._plan = plan
        self._python = python
        self._arguments = plan.command[plan.command.index(name) + 1 :]
        self._frameworks = _Frameworks([cwd, file.parent], python)
        tree = ScriptTree(lambda start, folder: _inner(plan, start, [cwd, folder]))
        text = plan.copy_text or text_of(file)
        self._outer = self._root = tree.of(ScriptFile(name, str(file), text), self._arguments)
        self._in_variable = ""
        self._lines = self._frameworks.of_lines(self._root)
        if plan.env.get(COMMAND) and not any(identity.trains for _, identity in self._lines):
            held = tree.of(ScriptFile(COMMAND, str(cwd / COMMAND), plan.env[COMMAND]), ())
            if of_variable := self._frameworks.of_lines(held):
                self._root, self._in_variable, self._lines = held, COMMAND, of_variable

    def analysis(self, stamp: str) -> ProgramAnalysis:
        main, identity, recognised, keys = self._chosen()
        launch = main.launch if main else None
        elsewhere = None
        if recognised and launch:
            elsewhere = handed_over([token.text for token in launch.tokens], launch.line)
        elif not recognised:
            elsewhere = self._elsewhere(main, identity)
        node = self._node(main)
        alike, others = self._split(main, identity, recognised)
        hidden = 0 if main else self._outer.script.hidden
        target = launch.target if launch else ""
        return ProgramAnalysis(
            launch=launch,
            recognised=recognised,
            keys=keys,
            script=evolve(node.script, launch=None if self._in_variable else launch),
            script_argument=node.name,
            in_variable=self._in_variable,
            config=_config(launch, identity.folders),
            missing_config=_missing_config(launch, identity.folders),
            stamp=stamp,
            root=self._root,
            lines=tuple(alike or ([main] if main else [])),
            other_lines=tuple(others),
            remark="" if recognised else _remark(identity, target, hidden),
            elsewhere=elsewhere,
        )

    def _chosen(
        self,
    ) -> tuple[TrainingLine | None, Identity, Recognised | None, CheckoutKeys | None]:
        """The first line whose program is recognised, else the main one."""
        first = _main(self._lines) or (None, self._frameworks.quoted_in(self._root.script))
        main, identity = first
        candidates = [first]
        if main and not identity.trains:
            candidates += _other_programs(main, self._lines)
        for line, each in candidates:
            recognised, keys = self._recognise(line, each)
            if recognised and (line or self._elsewhere(*first) is None):
                return line, each, recognised, keys
        return main, identity, None, None

    def _elsewhere(self, main: TrainingLine | None, identity: Identity) -> Elsewhere | None:
        """Where a script without a trainer starts one; a program in a quoted text may be one of a container."""
        return None if main and identity.trains else elsewhere_in(self._outer.script)

    def _node(self, main: TrainingLine | None) -> ScriptNode:
        return main.node if main and not self._in_variable else self._outer

    def _recognise(
        self, main: TrainingLine | None, identity: Identity
    ) -> tuple[Recognised | None, CheckoutKeys | None]:
        hints = _hints(self._plan, self._node(main).script)
        line = main.launch if main else None
        if line and any(re.search(r"\$\{?[@*]", word.text) for word in line.arguments):
            passed = map(LineWord, self._arguments)
            line = evolve(line, arguments=(*line.arguments, *passed))
        name = main.node.name if main else ""
        return _recognised(identity, line, identity.folders, self._python, hints, name)

    def _split(
        self, main: TrainingLine | None, identity: Identity, recognised: Recognised | None
    ) -> tuple[list[TrainingLine], list[TrainingLine]]:
        """The lines that start the same trainer as the main one, and those that start others."""
        if recognised and recognised.table.is_unknown and main:
            target = main.launch.target
            rest = _other_programs(main, self._lines)
            return (
                [line for line, _ in self._lines if line.launch.target == target],
                [line for line, other in rest if self._recognise(line, other)[0]],
            )
        alike = [line for line, other in self._lines if _is_same(identity, other)]
        others = [line for line, other in self._lines if other.trains and line not in alike]
        return alike, others


def _main(lines: Sequence[tuple[TrainingLine, Identity]]) -> tuple[TrainingLine, Identity] | None:
    """The last line that starts a trainer, else the last one of a framework, else the last one."""
    for wanted in (lambda item: item.trains, lambda item: item.tables, lambda item: True):
        if matching := [(line, identity) for line, identity in lines if wanted(identity)]:
            return matching[-1]
    return None


def _other_programs(
    main: TrainingLine, lines: Sequence[tuple[TrainingLine, Identity]]
) -> list[tuple[TrainingLine, Identity]]:
    """The last line of each other program, of which one may declare the keys of a trainer."""
    latest = {line.launch.target: (line, identity) for line, identity in lines}
    latest.pop(main.launch.target)
    return list(reversed(latest.values()))[: _MOST_PROGRAMS - 1]


def _is_same(main: Identity, other: Identity) -> bool:
    return (
        main.trains
        and other.trains
        and (main.tables, main.section) == (other.tables, other.section)
    )


class _Frameworks:
    """Identifies programs; each file is read once."""

    def __init__(self, folders: Sequence[Path], python: str) -> None:
        self.tables = [table for table in tables() if table.package]
        self._folders = folders
        self._python = python
        self._read: dict[tuple[str, bool, str, Path | None], Identity] = {}

    def of(self, launch: Launch, folder: Path | None = None) -> Identity:
        """`folder` holds the script, beside which its program may be."""
        key = launch.target, launch.module, launch.folder, folder
        if key not in self._read:
            folders = [*self._folders, *([folder] if folder else [])]
            if launch.folder:
                folders = [folders[0] / fixed_part(launch.folder), *folders]
            packages = {table.package for table in self.tables}
            file = ProgramFiles(folders, packages).of(launch)
            path = f"{launch.target.replace('.', '/')}.py" if launch.module else launch.target
            if not file.path and (entered := entered_folder(path, self._folders, self._python)):
                folders.insert(0, entered)
                file = ProgramFiles(folders, packages).of(launch)
            self._read[key] = evolve(identify(file, self.tables), folders=tuple(folders))
        return self._read[key]

    def quoted_in(self, script: Script) -> Identity:
        """A module that the script runs in a quoted text: the last one of a framework."""
        identities = [
            self.of(Launch((), (), module, module=True)) for module in modules_in(script.text)
        ]
        return next((item for item in reversed(identities) if item.tables), Identity())

    def of_lines(self, root: ScriptNode) -> list[tuple[TrainingLine, Identity]]:
        return [
            (TrainingLine(node, launch), self.of(launch, Path(node.path).parent))
            for node, launch in root.launches()
        ]


def _inner(plan: RunPlan, start: ScriptStart, folders: Sequence[Path]) -> ScriptFile | None:
    """The file of a script that another one starts: a copy of the plan, else one of the checkout."""
    written = start.script.text
    # A folder that is not on this machine, or is relative to another one, does not hide the script.
    inner = fixed_part(start.folder)
    folders = [*(folder / inner for folder in folders if inner), *folders]
    if number := copy_number(written):
        if number > len(plan.inner_copies):
            return None
        copy = plan.inner_copies[number - 1]
        return ScriptFile(_shown(copy.path, plan.cwd), copy.path, copy.text)
    file = near(written, folders)
    return ScriptFile(_shown(str(file), plan.cwd), str(file), text_of(file)) if file else None


def _shown(path: str, cwd: str) -> str:
    """The path as the user would write it in `cwd`."""
    return os.path.relpath(path, cwd) if Path(path).is_relative_to(cwd) else path


def _recognised(
    identity: Identity,
    launch: Launch | None,
    near: Sequence[Path],
    python: str,
    hints: Sequence[str],
    name: str = "",
) -> tuple[Recognised | None, CheckoutKeys | None]:
    folders = list(roots(near))
    versions = {
        table.package: _version(identity.tables, table.package, folders, python)
        for table in identity.tables
    }
    by_table = chosen(identity, versions)
    if by_table is None and launch and not purpose_of(launch.target):
        return recognised_by_keys(launch, near, python, hints, name) or (None, None)
    return checkout_keys(by_table, identity.tables, launch, near, python, hints)


def _remark(identity: Identity, target: str, hidden: int = 0) -> str:
    """Why nothing is shortened; what the program does is not claimed.  `hidden` is the line of one in quotes."""
    if hidden and not identity.tables:
        return t("The program is in a quoted text (line {line}).", line=hidden)
    if identity.trains or not (identity.tables or identity.launches):
        return ""
    target = target or identity.module
    name = re.split(r"[/})\"]", target)[-1]
    if identity.launches == "execute_train":
        made = t("{name} makes the command of the trainer itself.", name=name)
        option = t("Add {option} there to shorten it.", option="--num-rollout 2")
        variable = f"{identity.tables[0].package.upper()}_SCRIPT_EXTERNAL_RAY"
        ends = t("First it runs `{command}`, which ends this run.", command="pkill -9 ray")
        return f"{made} {option} {ends} {t('Start Ray yourself, and set {name}=1.', name=variable)}"
    if identity.launches:
        made = t("{name} itself runs `{command}`.", name=name, command=identity.launches)
        return f"{made} {t('Its arguments are not visible here. Shorten them there.')}"
    if purpose := purpose_of(target):
        return t(
            "By its name, {name} is for {purpose}, so nothing is shortened.",
            name=name,
            purpose=purpose,
        )
    uses = t("{name} uses {framework}.", name=name, framework=identity.tables[0].title)
    return f"{uses} {t('Eagleray knows no trainer in it, so nothing is shortened.')}"


def _script_argument(plan: RunPlan, cwd: Path) -> str:
    """The argument of the command that names a shell script."""
    first = Path(plan.argv[0]).name
    if first not in _SHELLS:
        return plan.argv[0] if _is_shell_script(cwd / plan.argv[0]) else ""
    arguments = (argument for argument in plan.argv[1:] if not argument.startswith("-"))
    return next((argument for argument in arguments if (cwd / argument).is_file()), "")


def _is_shell_script(file: Path) -> bool:
    if not file.is_file():
        return False
    first = text_of(file).partition("\n")[0]
    return first.startswith("#!") and any(shell in first for shell in _SHELLS)


def _version(
    candidates: Sequence[FrameworkTable], package: str, roots: Sequence[Path], python: str
) -> DetectedVersion:
    """The checkout that the program runs in comes before what is installed, as it does for Python."""
    for table in candidates:
        if table.package != package:
            continue
        for root in roots:
            if not (root / package).is_dir():
                continue
            for path, pattern in table.version_files:
                if version := parse_version(text_of(root / path), pattern):
                    return DetectedVersion(
                        _release(candidates, package, root, version), str(root / path)
                    )
        for metadata in _metadata(table.distribution, python):
            if version := metadata_version(text_of(metadata)):
                return DetectedVersion(version, str(metadata.parent))
    return DetectedVersion("", "")


def _release(candidates: Sequence[FrameworkTable], package: str, root: Path, version: str) -> str:
    """The version of the checkout `root`, which may be a release whose version file names an earlier one."""
    releases = [
        release for table in candidates if table.package == package for release in table.releases
    ]
    for release in releases:
        text = text_of(root / release.path) if release.stated == version else ""
        if re.search(release.pattern, text, re.MULTILINE):
            return release.version
    return version


def _metadata(distribution: str, python: str) -> Iterator[Path]:
    """The metadata of a package installed for the interpreter `python`, found by its place."""
    folder = Path(python).parent.parent if "/" in python else None
    name = re.sub(r"[-_.]+", "_", distribution)
    if folder:
        yield from sorted(
            folder.glob(f"lib/python3*/site-packages/{name}-[0-9]*.dist-info/METADATA")
        )


def _config(launch: Launch | None, folders: Sequence[Path]) -> str:
    option = value_of(launch.arguments, "--config", "argparse") if launch else None
    file = near(option[1], folders) if option and option[1] else None
    return text_of(file) if file else ""


def _missing_config(launch: Launch | None, folders: Sequence[Path]) -> str:
    """The configuration file that the line names in full and that isn't there, "" otherwise."""
    path, name, whole = (
        (value_of(launch.arguments, f"--config{part}", "argparse") or (None, None))[1]
        if launch
        else None
        for part in ("-path", "-name", "")
    )
    file = f"{path}/{name.removesuffix('.yaml')}.yaml" if path and name else whole
    if not launch or not file or not _CONFIG.fullmatch(file):
        return ""
    beside = (folder / Path(launch.target).parent for folder in folders)
    is_there = Path(file).is_file() or near(file, [*folders, *beside])
    return "" if is_there else file


@frozen
class TrainingLine:
    """A line that starts a trainer, and its script."""

    node: ScriptNode
    launch: Launch


@frozen
class ProgramAnalysis:
    """`script` is the one with the training line, by the name `script_argument`; None where the command starts Python.

    `root` is the script of the command, which may start that one.  `lines` are all lines that start this trainer, and
    `other_lines` those that start another one of the framework.  `in_variable` is the variable of the environment that
    holds the training line (`COMMAND` of `ray.sub`).  `config` is the text of the configuration file that the line
    names.  `stamp` makes names of experiments that were not used before.  `remark` says what a program does that is
    not a trainer.  `keys` finds keys in the user's checkout.  `elsewhere` is the line that starts the program where no file
    can be read.
    """

    launch: Launch | None
    recognised: Recognised | None
    script: Script | None = None
    script_argument: str = ""
    in_variable: str = ""
    config: str = ""
    # Such a file that isn't there.
    missing_config: str = ""
    stamp: str = ""
    root: ScriptNode | None = None
    lines: tuple[TrainingLine, ...] = ()
    other_lines: tuple[TrainingLine, ...] = ()
    remark: str = ""
    keys: CheckoutKeys | None = None
    elsewhere: Elsewhere | None = None

    @property
    def launches(self) -> tuple[Launch, ...]:
        """All lines that start this trainer, the main one first."""
        others = (line.launch for line in self.lines if line.launch is not self.launch)
        return (*([self.launch] if self.launch else []), *others)

    def assigned(self, name: str) -> tuple[Assignment, str] | None:
        """The assignment of a variable that the training line gets, and the name of its script."""
        main = next((line for line in self.lines if line.launch is self.launch), None)
        if self.script is None or self.root is None or main is None:
            assignment = self.script.assigned(name) if self.script else None
            return (assignment, self.script_argument) if assignment else None
        for node in reversed(self.root.path_to(main.node)):
            script = self.script if node is main.node else node.script
            if assignment := script.assigned(name):
                return assignment, node.name
        assignment = self.script.assigned(name)
        return (assignment, self.script_argument) if assignment else None

    def overwritten(self, name: str) -> tuple[Assignment, str] | None:
        """An assignment in a script above the training line that replaces what the environment says."""
        main = next((line for line in self.lines if line.launch is self.launch), None)
        for node in self.root.path_to(main.node) if self.root and main else ():
            for assignment in node.script.assignments:
                if assignment.name == name and not assignment.keeps:
                    return assignment, node.name
        assigned = self.assigned(name)
        return assigned if assigned and not assigned[0].keeps else None


def with_training_line(plan: RunPlan, environ: Mapping[str, str]) -> RunPlan:
    """The plan with COMMAND of the caller's environment, if its script reads it and the plan does not set it."""
    line = environ.get(COMMAND, "")
    if not line or COMMAND in plan.env or not _USE.search(_script(plan)):
        return plan
    return evolve(plan, env={**plan.env, COMMAND: line})


def _script(plan: RunPlan) -> str:
    name = script_at("script" if plan.kind == "job" else plan.kind, plan.argv)
    return readable_text(Path(plan.cwd) / name, _LARGEST) if name else ""
