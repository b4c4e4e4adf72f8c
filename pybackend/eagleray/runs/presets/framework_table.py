"""Tables of frameworks: the keys that a debug run sets in which versions, where they are verified, and when they act."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from attrs import frozen

from eagleray.common.l10n import t, translated
from eagleray.runs.presets.yaml_tree import read_yaml
from eagleray.runs.scripts.launch_lines import LineWord, value_of

_STAGES = {"dev": 0, "a": 1, "alpha": 1, "b": 2, "beta": 2, "rc": 3, "pre": 3, "": 4, "post": 5}
_VERSION = re.compile(
    r"v?(?P<numbers>\d+(?:\.\d+){0,5})(?:[._-]?(?P<stage>[a-z]+)[._-]?(?P<count>\d{0,9}))?(?:\+\S*)?"
)

# The key of a condition on the name of the program.
PROGRAM = "{program}"

# The framework of a trainer that no table is for.
UNKNOWN = "unknown"
# An interval that a short run doesn't reach.
NEVER = "1000000"

Order = tuple[tuple[int, ...], int, int]


def order_of(version: str) -> Order | None:
    """The sort key of a version; None if `version` is not one."""
    match = _VERSION.fullmatch(version.strip())
    if match is None or (match["stage"] or "") not in _STAGES:
        return None
    numbers = [int(number) for number in match["numbers"].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers), _STAGES[match["stage"] or ""], int(match["count"] or 0)


@frozen
class Range:
    """From one version through another, both included, which are the first and the last that were read."""

    first: str
    last: str

    def holds(self, version: str) -> bool:
        """Whether `version` was read; an unknown one was not."""
        order, first, last = order_of(version), order_of(self.first), order_of(self.last)
        return bool(order and first and last and first <= order <= last)

    def __str__(self) -> str:
        if self.first == self.last:
            return self.first
        return t("{first} to {last}", first=self.first, last=self.last)


# How a line sets a key: `++key=value`, `key=value` (OmegaConf), `--key value`, or not at all.
Syntax = Literal["hydra", "dotlist", "argparse", "none"]
# How a variable reaches the workers: all of the driver's do; by an override; those with a prefix; those named;
# only through a Ray that the program starts itself.
VariableTransport = Literal["environment", "override", "prefix", "named", "own_ray"]


@frozen
class Check:
    """Where a key was verified, as `file:line` of `commit`, the last one read of `versions`.

    `exists` declares the key, `acts` is where the framework uses its value.  Without `acts` the key can be set, but its
    effect was not verified; several places belong to several programs.
    """

    versions: Range
    commit: str
    exists: str
    acts: tuple[str, ...] = ()


@frozen
class Condition:
    """The value of `key` in the training line has to match the regular expression `matches`.

    The key `{program}` is the name of the program.  With `in_config` the configuration file of the line is read, too.
    `default` is the framework's value if the key isn't set there.  `why` is shown where the condition fails; if it is
    empty, the entry is left out silently.  The conditions in `also` have to hold, too.  With `doubts` the entry acts
    also where it fails, but that isn't verified.
    """

    key: str
    matches: str
    default: str
    why: str = ""
    in_config: bool = False
    also: tuple[Condition, ...] = ()
    doubts: bool = False


@frozen
class KeyEntry:
    """A key that is set to `value` in the versions of `checked`.

    `variable` is the run script's variable that sets the same key.  With `present_only` the key is set only if the line
    sets it already.  One of the conditions in `when` has to hold.  `times` are a key of the line and its default: the
    answer is multiplied by that number.  With `takes_value` an argument that is removed has a value.
    """

    key: str
    value: str
    checked: tuple[Check, ...]
    variable: str = ""
    present_only: bool = False
    when: tuple[Condition, ...] = ()
    times: tuple[str, int] | None = None
    takes_value: bool = False

    def check(self, version: str) -> Check | None:
        """The check that covers `version`; None if the key doesn't exist in that version."""
        return next((check for check in self.checked if check.versions.holds(version)), None)


@frozen
class Offer:
    """The effect of an option in this framework.  `kind` "tick" asks for no value.

    `flags` are arguments to be removed; `environment` are variables of the workers.  In versions of `by_name` the
    folder has one for each name of an experiment, so that debug runs that share it need the same one.
    """

    kind: Literal["tick", "number", "text", "folder"]
    value: str
    text: str
    detail: str
    entries: tuple[KeyEntry, ...]
    flags: tuple[KeyEntry, ...] = ()
    environment: tuple[KeyEntry, ...] = ()
    by_name: Range | None = None

    @property
    def all_entries(self) -> tuple[KeyEntry, ...]:
        return (*self.entries, *self.environment, *self.flags)


@frozen
class Absence:
    """Why an option doesn't exist in `versions`."""

    versions: Range
    why: str


@frozen
class WorkerVariables:
    """How a variable reaches the workers; `needs` is a key that the configuration must have for it.

    `fixed` are those that the framework itself sets in its workers, whatever the environment says.
    """

    transport: VariableTransport
    why: str
    checked: tuple[Check, ...]
    key: str = ""
    needs: str = ""
    names: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()


@frozen
class Switch:
    """How a framework itself runs workers under nsys at some steps: keys or variables that belong together.

    It identifies workers by "patterns", by "names" of groups, or takes "all".  Its first step is `first`.
    """

    groups: Literal["patterns", "names", "all"]
    first: int
    why: str
    entries: tuple[KeyEntry, ...]
    environment: tuple[KeyEntry, ...]

    def exists_in(self, version: str) -> bool:
        return any(entry.check(version) for entry in (*self.entries, *self.environment))


@frozen
class Release:
    """A release whose version file still states `stated`: recognised by `pattern` in the file `path`."""

    version: str
    stated: str
    path: str
    pattern: str


@frozen
class Configuration:
    """How the programs of a framework are configured.

    The configuration is complete once the function `complete` ("module:name") returns it; Hydra needs none.
    """

    kind: Literal["hydra", "yaml", "class", "flags"]
    name: str = ""
    complete: str = ""


@frozen
class FrameworkTable:
    """One framework in a range of versions; `sections` maps names of programs to the part of the configuration.

    `read` are the versions whose sources were read, the oldest first.  `leaves` are a kind of files and their folder
    that every run leaves behind, with `{name}` for the experiment.
    """

    framework: str
    title: str
    syntax: Syntax
    repository: str
    versions: Range
    read: tuple[str, ...]
    package: str
    distribution: str
    modules: tuple[str, ...]
    imports: tuple[str, ...]
    version_files: tuple[tuple[str, str], ...]
    releases: tuple[Release, ...]
    workers: WorkerVariables
    sections: tuple[tuple[str, str], ...]
    configuration: Configuration | None
    offers: Mapping[str, Offer]
    absent: Mapping[str, tuple[Absence, ...]]
    profile: Switch | None = None
    leaves: tuple[tuple[str, str], ...] = ()

    @property
    def is_unknown(self) -> bool:
        """Whether it was made from the keys of a trainer that no table is for."""
        return self.framework == UNKNOWN

    def was_read(self, version: str) -> bool:
        """Whether the sources of exactly this version were read."""
        order = order_of(version)
        return order is not None and order in map(order_of, self.read)

    def nearest(self, version: str) -> str:
        """The newest version read that is not newer than `version`, else the oldest; the newest for an unknown one."""
        if not self.read:
            return ""
        order = order_of(version)
        older = [
            candidate
            for candidate in self.read
            if not order or (order_of(candidate) or order) <= order
        ]
        return older[-1] if older else self.read[0]

    def offer(self, name: str, version: str) -> Offer | None:
        """The option `name` in the version nearest to `version`; None if it doesn't exist there."""
        offer, nearest = self.offers.get(name), self.nearest(version)
        if offer and any(entry.check(nearest) for entry in offer.all_entries):
            return offer
        return None

    def absence(self, name: str, version: str) -> str:
        """Why the option `name` doesn't exist in the version nearest to `version`, in English; "" if it does."""
        nearest = self.nearest(version)
        reasons = (
            absence.why for absence in self.absent.get(name, ()) if absence.versions.holds(nearest)
        )
        return next(reasons, "")


@frozen
class Variable:
    """A variable that the option sets."""

    option: str
    name: str
    value: str
    why: str
    source: str


@frozen
class Variables:
    """Variables that act, and variables that are often set and act on nothing."""

    acting: tuple[Variable, ...]
    ineffective: Mapping[str, str]


@frozen
class TrainingLineContext:
    """A training line: its arguments, the name of the program, the text of its configuration file."""

    arguments: tuple[LineWord, ...]
    program: str
    config: str
    syntax: Syntax


@frozen
class Verdict:
    """Whether an entry acts; "unknown" where the line's value isn't known before it runs."""

    result: Literal["acts", "fails", "unknown"]
    why: str = ""


def verdict(entry: KeyEntry, line: TrainingLineContext) -> Verdict:
    """Whether one of the entry's conditions holds in `line`."""
    results = [_holds(condition, line) for condition in entry.when]
    if not results or True in results:
        return Verdict("acts")
    first = entry.when[0]
    if first.doubts:
        return Verdict("unknown", translated(first.why))
    if None in results:
        return Verdict("unknown", t("The value of {key} is not known.", key=first.key))
    return Verdict("fails", translated(first.why))


def multiplied(entry: KeyEntry, answer: str, line: TrainingLineContext) -> tuple[str, str]:
    """The number for an entry with `times`, and what was assumed for it: "" if the line gives it."""
    if entry.times is None or not answer.isdecimal():
        return answer, ""
    key, default = entry.times
    setting = value_of(line.arguments, key, line.syntax)
    if setting is None:
        return str(int(answer) * default), ""
    if setting[1] and setting[1].isdecimal():
        return str(int(answer) * int(setting[1])), ""
    assumed = t("The value of {key} is not known; {number} is assumed.", key=key, number=default)
    return str(int(answer) * default), assumed


def _holds(condition: Condition, line: TrainingLineContext) -> bool | None:
    value = _value(condition, line)
    result = None if value is None else bool(re.fullmatch(condition.matches, value))
    results = [result, *(_holds(other, line) for other in condition.also)]
    return False if False in results else (None if None in results else True)


def _value(condition: Condition, line: TrainingLineContext) -> str | None:
    """The value of the condition's key; None if the line sets it to what isn't known before it runs."""
    if condition.key == PROGRAM:
        return line.program
    # Options of Hydra itself, such as `--config-name`, are written as argparse has them.
    syntax = "argparse" if condition.key.startswith("--") else line.syntax
    setting = value_of(line.arguments, condition.key, syntax)
    if setting is not None:
        return setting[1]
    in_config = read_yaml(line.config).at(condition.key) if condition.in_config else None
    return condition.default if in_config is None else in_config.value
