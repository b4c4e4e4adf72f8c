"""Recognises the framework of a training line and its version; executes nothing.

1. The program loads a framework's configuration and calls its trainer (`TRAINERS`).
2. A module without a file here is one that the framework's table names.
3. A program that only imports a framework is recognised, but not as a trainer.
4. The version is what the version file of the user's checkout says, else the installed package's metadata.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from attrs import frozen

from eagleray.common.l10n import later, translated
from eagleray.runs.presets.framework_table import FrameworkTable, Order, order_of
from eagleray.runs.presets.program_source import Program, ProgramFile

# A function of slime and miles that runs the text of a command, after `ray stop` and `pkill -9 ray`.
_EXECUTE = "execute_train"
_LAUNCHES = re.compile(r"(?:slime|miles)\.utils\.external_utils\.command_utils\.execute_train")
# Older than every version.
_NONE: Order = ((), 0, 0)
_RUN_MODULE = re.compile(r"(?<!\S)(?:-m|--module)\s+(?P<module>[A-Za-z_][\w.]*)")


@frozen
class DetectedVersion:
    """The version of an installed framework or checkout, and the file that it was read from."""

    text: str
    where: str


@frozen
class Identity:
    """The framework of a program by its tables.  `section` is the part of the configuration that it reads.

    `trains`: it is a trainer.  `listed`: the tables name it, or it calls a program that they name.  `module` is its name.
    `launches` is how it starts a trainer whose command it puts together itself.  `folders` are those where its files may
    be, the program's first.
    """

    tables: tuple[FrameworkTable, ...] = ()
    section: str = ""
    trains: bool = False
    listed: bool = False
    module: str = ""
    launches: str = ""
    folders: tuple[Path, ...] = ()


@frozen
class Recognised:
    """A framework: its table, the version found ("" for none) and whether the table was read from that version.

    `section` is the part of the configuration that this program reads, "" where there is only one.  `listed`: the
    table names this program.
    """

    table: FrameworkTable
    version: DetectedVersion
    section: str = ""
    listed: bool = True

    @property
    def in_range(self) -> bool:
        return self.table.versions.holds(self.version.text)

    @property
    def verified(self) -> bool:
        """Whether the table was read from exactly this version, and for this trainer of the framework."""
        if not self.table.was_read(self.version.text):
            return False
        if self.table.sections:
            return self.section in {section for _, section in self.table.sections}
        return self.listed or all("*" in module for module in self.table.modules)


def identify(file: ProgramFile, tables: Sequence[FrameworkTable]) -> Identity:
    """The framework that a program trains with, else the one that it imports."""
    program = file.program
    packages = {file.module.partition(".")[0]}
    if program:
        packages |= {name.split(".")[0] for name in program.imports}
    # Frameworks have recipes of the same name: verl's and SkyRL's `dapo.main_dapo`.
    listed = tuple(
        table
        for table in tables
        if _lists(table, file.module) and (program is None or packages & set(table.imports))
    )
    if listed:
        return Identity(listed, trains=True, listed=True)
    if program is None:
        return _by_name(file.module, tables)
    imported = [table for table in tables if packages & set(table.imports)]
    for framework in dict.fromkeys(table.framework for table in imported):
        if training := training_of(framework, program):
            matching = tuple(table for table in imported if table.framework == framework)
            calls = {name.removesuffix(".main") for name in program.uses if name.endswith(".main")}
            only = any(_lists(table, name) for table in matching for name in calls)
            return Identity(matching, training.section, trains=True, listed=only)
    first = imported[0].framework if imported else ""
    matching = tuple(table for table in imported if table.framework == first)
    own = next((_EXECUTE for name in program.uses if _LAUNCHES.fullmatch(name)), "")
    return Identity(matching, module=file.module, launches=own or program.starts)


def _by_name(module: str, tables: Sequence[FrameworkTable]) -> Identity:
    """A module whose file was not found."""
    for table in tables:
        if any(fnmatchcase(module, pattern) for pattern in table.modules):
            section = _section_by_name(table, module)
            if section is not None:
                return Identity((table,), section, trains=True)
    return Identity()


def modules_in(script: str) -> list[str]:
    """The modules that the text of a script runs, also within quotes."""
    return [match["module"] for match in _RUN_MODULE.finditer(script)]


def chosen(identity: Identity, versions: Mapping[str, DetectedVersion]) -> Recognised | None:
    """The table that was read from the version at hand, else the nearest one; None for what is not a trainer.

    `versions` are those found, by the package's name.
    """
    if not identity.trains:
        return None
    fitting = [
        Recognised(
            table,
            versions.get(table.package, DetectedVersion("", "")),
            identity.section,
            identity.listed,
        )
        for table in identity.tables
    ]
    oldest_first = sorted(
        fitting, key=lambda candidate: order_of(candidate.table.versions.first) or _NONE
    )
    if covering := next((candidate for candidate in fitting if candidate.in_range), None):
        return covering
    version = order_of(oldest_first[-1].version.text)
    older = [
        candidate
        for candidate in oldest_first
        if not version or (order_of(candidate.table.versions.first) or _NONE) <= version
    ]
    return older[-1] if older else oldest_first[0]


def _section_by_name(table: FrameworkTable, module: str) -> str | None:
    """The part of the configuration that a program of this name reads; None if the table has none for it."""
    if not table.sections:
        return ""
    name = module.rpartition(".")[2]
    return next(
        (section for pattern, section in table.sections if fnmatchcase(name, pattern)), None
    )


def _lists(table: FrameworkTable, module: str) -> bool:
    """Whether the table names `module`, which may begin with the folders of a checkout."""
    exact = [name for name in table.modules if "*" not in name]
    return any(f".{module}".endswith(f".{name}") for name in exact)


def parse_version(text: str, pattern: str) -> str:
    """The version that `pattern` finds in the text of a file; its groups are joined by dots."""
    match = re.search(pattern, text, re.MULTILINE)
    return ".".join(match.groups()) if match else ""


def metadata_version(text: str) -> str:
    """The version in the METADATA of an installed package."""
    return parse_version(text.split("\n\n", 1)[0], r"^Version:\s*(\S+)")


@frozen
class Trainer:
    """A shape of a trainer's program; each pattern has to match a whole name.

    `loads`: a used name, which reads the configuration and the command line.  `trains`: an imported or used name.
    `calls`: a method that is called, "" for none.  A group in `trains` is the section of the configuration.
    """

    loads: str
    trains: str
    calls: str = ""


_HYDRA = r"hydra\.main"
TRAINERS: dict[str, tuple[Trainer, ...]] = {
    "verl": (
        Trainer(
            r"verl\.(?:\w+\.)+main_ppo(?:_\w+)?\.main", r"verl\.(?:\w+\.)+main_ppo(?:_\w+)?\.main"
        ),
        Trainer(_HYDRA, r"verl\.trainer\.main_ppo(?:_\w+)?\.(?:run_ppo|TaskRunner|main)"),
        Trainer(
            _HYDRA, r"(?:verl|recipe)\.(?:trainer\.ppo|trainer\.main_ppo)\b.*", r"fit(?:_\w+)?"
        ),
    ),
    "nemo_rl": (
        Trainer(
            r"nemo_rl\.utils\.config\.parse_hydra_overrides",
            r"nemo_rl\.algorithms\.\w+\.(?:async_)?(?P<section>\w+?)_train(?:_\w+)?",
        ),
        Trainer(
            r"nemo_rl\.utils\.config\.parse_hydra_overrides",
            r"nemo_rl\.algorithms\.single_controller\.SingleControllerActor",
        ),
    ),
    "areal": (
        Trainer(r"areal\.(?:.+\.)?load_expr_config", r"areal\.(?:.+\.)?[A-Z]\w*Trainer", "train"),
        Trainer(
            r"areal\.(?:.+\.)?load_expr_config",
            r"areal\..+",
            r"train_(?:batch|lm|rw|dpo)|ppo_update",
        ),
    ),
    "rlinf": (
        Trainer(
            _HYDRA,
            r"rlinf\..+\.(?:\w*Embodied|\w*Reasoning|\w*Agent|AgentLightningRLinf|\w*OnlineRL|\w*Offline|\w*SFT)Runner",
            "run",
        ),
        Trainer(_HYDRA, r"rlinf\.agents\.agentlightning\.algorithm\.RLinf", "fit"),
    ),
    # Their own loops: what another loop saves and when is not known.
    **{
        package: (
            Trainer(
                rf"{package}\.utils\.arguments\.parse_args",
                rf"{package}\.utils\.misc\.should_run_periodic_action",
                r"(?:async_)?train",
            ),
        )
        for package in ("slime", "miles")
    },
    "skyrl": (
        # Programs that only evaluate call `validate_generator_cfg`.
        Trainer(
            r"skyrl\.train\.(?:config|entrypoints\.main_base)\..+",
            r"skyrl\.train\..+\.validate_cfg",
            "from_cli_overrides",
        ),
    ),
    "openrlhf": (
        Trainer(
            r"argparse\.ArgumentParser",
            r"openrlhf\.trainer\.(?:ray|ppo_trainer)\b.*",
            r"fit|async_fit_actor_model",
        ),
    ),
}
# Sections that are named after another algorithm than the function that trains.
_SECTIONS = {"xtoken_off_policy_distillation": "distillation"}
_SINGLE_CONTROLLER = "grpo"
# The tasks of other programs of a framework, by a part of their path.
_PURPOSES = (
    (
        r"pre_?process|prepare|download|create_dataset|build_(?:dataset|index)|tokenize",
        later("data preparation"),
    ),
    (r"convert|merge|export|ckpt", later("checkpoint conversion")),
    (r"eval|benchmark|bench_|scor(?:e|ing)", later("evaluation")),
    (r"collect|generat(?:e|ion)|gen_", later("data collection")),
    (r"serve|server", later("serving a model")),
)


@frozen
class Training:
    """A program that was recognised as a trainer; `section` is "" if its calls name none."""

    section: str = ""


def training_of(framework: str, program: Program) -> Training | None:
    """How `program` trains with `framework`, None if it is not a trainer of it."""
    for trainer in TRAINERS.get(framework, ()):
        loads = any(re.fullmatch(trainer.loads, name) for name in program.uses)
        calls = not trainer.calls or any(
            re.fullmatch(trainer.calls, name) for name in program.methods
        )
        names = sorted(program.uses | program.imports)
        matches = [match for name in names if (match := re.fullmatch(trainer.trains, name))]
        if loads and calls and matches:
            return Training(_section(matches))
    return None


def _section(matches: Iterable[re.Match[str]]) -> str:
    for match in matches:
        if section := match.groupdict().get("section"):
            return _SECTIONS.get(section, section)
        if match[0].endswith("SingleControllerActor"):
            return _SINGLE_CONTROLLER
    return ""


def purpose_of(name: str) -> str:
    """The purpose of a program that is not a trainer, by its name; "" if the name has no hint."""
    parts = [part for part in re.split(r"[/.]", name.lower()) if part not in ("py", "examples")]
    for part in reversed(parts):
        for pattern, purpose in _PURPOSES:
            if re.search(pattern, part):
                return translated(purpose)
    return ""
