"""The overrides that answers request: Hydra or argparse arguments, and variables with their route to the workers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from attrs import asdict, evolve, frozen

from eagleray.common.l10n import t, translated
from eagleray.common.redact import redact_text
from eagleray.runs.model import RunPlan
from eagleray.runs.presets.analysis import ProgramAnalysis
from eagleray.runs.presets.checkout_files import Definition
from eagleray.runs.presets.errors import bad_answer
from eagleray.runs.presets.framework_table import (
    NEVER,
    Check,
    KeyEntry,
    Offer,
    TrainingLineContext,
    WorkerVariables,
    multiplied,
    verdict,
)
from eagleray.runs.presets.framework_table_file import tables, variables
from eagleray.runs.presets.hidden_options import token_that_may_hold
from eagleray.runs.presets.job_submission import Edit, submits, with_variables
from eagleray.runs.presets.model import OF_VARIABLES, OPTIONS, Outcome, ProposedChange
from eagleray.runs.presets.placement import no_training_line
from eagleray.runs.presets.proposal_text import NOT_SET, SettingText, of_current
from eagleray.runs.presets.questions import program_of, with_fresh
from eagleray.runs.presets.recognition import Recognised
from eagleray.runs.presets.yaml_tree import read_yaml
from eagleray.runs.scripts.launch_lines import LineWord, value_of


@frozen
class Override:
    """`arguments` behind the line, `env` of the program, `job` of the job that it submits, `edits` of arguments.

    `change` is set where nothing has to be placed.  `verified`: its effect was verified.
    """

    request: str
    arguments: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    job: tuple[tuple[str, str], ...] = ()
    edits: tuple[Edit, ...] = ()
    change: ProposedChange | None = None
    why: str = ""
    verified: bool = True
    option: str = ""


def overrides_for(
    name: str, value: str, plan: RunPlan, analysis: ProgramAnalysis
) -> Iterator[Override]:
    """The overrides of the option `name` with the answer `value`."""
    option = next((item for item in OPTIONS if item.name == name), None)
    recognised = analysis.recognised
    if of_variables := next((item for item in OF_VARIABLES if item.name == name), None):
        for variable in (each for each in variables().acting if each.option == name):
            yield variable_override(
                f"{translated(of_variables.text)}: {translated(variable.why)}",
                variable.name,
                variable.value,
                plan,
                analysis,
            )
    elif option and recognised and (offer := recognised.table.offer(name, recognised.version.text)):
        yield from _of_offer(offer, option.text, value, plan, analysis)
    elif option and recognised:
        request = translated(option.text)
        why = translated(recognised.table.absence(name, recognised.version.text))
        yield Override(request, change=ProposedChange(request, "no such option", "", why))
    elif option:
        request = translated(option.text)
        why = t("No framework was recognised. Set it in your program.")
        yield Override(request, change=ProposedChange(request, "not changed", "", why))


def variable_override(
    request: str, name: str, value: str, plan: RunPlan, analysis: ProgramAnalysis
) -> Override:
    """A variable of the workers."""
    if plan.env.get(name) == value:
        shown = SettingText(name, value, t("environment"))
        return Override(
            request,
            change=ProposedChange(
                request, "already so", f"{name}={value}", **asdict(shown, recurse=False)
            ),
        )
    route = variable_route(name, value, plan, analysis)
    if not (route.arguments or route.env or route.job):
        return Override(request, change=ProposedChange(request, "not changed", name, route.why))
    return Override(request, arguments=route.arguments, env=route.env, job=route.job, why=route.why)


def _of_offer(
    offer: Offer, text: str, value: str, plan: RunPlan, analysis: ProgramAnalysis
) -> Iterator[Override]:
    request = translated(offer.text or text)
    if offer.kind != "tick":
        request = f"{request}: {value}"
    recognised = analysis.recognised
    assert recognised is not None
    version = recognised.table.nearest(recognised.version.text)
    if analysis.keys and not offer.environment and not analysis.keys.of_offer(offer, recognised):
        where = ", ".join(entry.key for entry in (*offer.entries, *offer.flags))
        why = t(
            "Your {framework} doesn't define it; set what it has instead.",
            framework=recognised.table.title,
        )
        yield Override(request, change=ProposedChange(request, "not changed", where, why))
        return
    for entry in offer.entries:
        if check := entry.check(version):
            yield from _where_it_acts(request, entry, check, value, plan, analysis, recognised)
    for entry in offer.environment:
        if check := entry.check(version):
            exact = entry.value.replace("{value}", value)
            override = variable_override(request, entry.key, exact, plan, analysis)
            yield evolve(override, verified=bool(check.acts))
    for flag in offer.flags:
        if check := flag.check(version):
            result = verdict(flag, _context(plan, analysis, recognised))
            if result.result == "fails":
                change = ProposedChange(request, "not changed", flag.key, result.why)
                yield Override(request, change=change)
                continue
            for tokens in _lines_with(flag.key, plan, analysis):
                override = _without(request, flag, tokens, analysis)
                acts = bool(check.acts) and not result.why
                why = override.why or result.why
                yield evolve(override, verified=acts, why=why)


def _where_it_acts(
    request: str,
    entry: KeyEntry,
    check: Check,
    answer: str,
    plan: RunPlan,
    analysis: ProgramAnalysis,
    recognised: Recognised,
) -> Iterator[Override]:
    """The entry, unless the line's other keys keep it from acting."""
    line = _context(plan, analysis, recognised)
    result = verdict(entry, line)
    if result.result == "fails":
        if result.why:
            change = ProposedChange(request, "not changed", entry.key, result.why)
            yield Override(request, change=change)
        return
    place = analysis.keys.of_entry(entry, recognised) if analysis.keys else None
    if analysis.keys and place is None:
        place = _undeclared(entry, plan, analysis, recognised)
        if place is None:
            return
    if analysis.keys and entry.value == "-1" and analysis.keys.is_unguarded(entry.key):
        entry = evolve(entry, value=NEVER)
    value, assumed = multiplied(entry, answer, line)
    if recognised.table.syntax == "none":
        setting = f"{entry.key}={entry.value.replace('{value}', value)}"
        why = t("The line isn't known to override its file. Set it in {place}.", place=place)
        yield Override(request, change=ProposedChange(request, "not changed", setting, why))
        return
    override = _of_entry(request, entry, value, plan, analysis, recognised)
    defined = t("Defined in {place}.", place=place) if place and not override.change else ""
    # A limit of steps; an interval may be read from a part of the configuration.
    if (
        defined
        and "{value}" in entry.value
        and analysis.keys
        and analysis.keys.is_unread(entry.key)
    ):
        defined = f"{defined} {t('No code that reads it was found.')}"
    why = " ".join(part for part in (override.why, defined, result.why, assumed) if part)
    yield evolve(override, why=why, verified=bool(check.acts) and not (result.why or assumed))


def _context(
    plan: RunPlan, analysis: ProgramAnalysis, recognised: Recognised
) -> TrainingLineContext:
    return TrainingLineContext(
        line_of(plan, analysis), program_of(analysis), analysis.config, recognised.table.syntax
    )


def _undeclared(
    entry: KeyEntry, plan: RunPlan, analysis: ProgramAnalysis, recognised: Recognised
) -> Definition | None:
    """Where a key without a declaration is set by the line, or read by the program with a default of its own.

    Left out, it would keep its option from acting: Search-R1's `trainer.get("val_before_train", True)`.
    """
    if recognised.table.syntax != "hydra" or analysis.keys is None:
        return None
    key = entry.key.replace("{section}", recognised.section)
    current = value_of(line_of(plan, analysis), key, "hydra")
    if current:
        return Definition(analysis.script_argument or t("command"), max(current[0].line, 1))
    return analysis.keys.reads(key)


def _of_entry(
    request: str,
    entry: KeyEntry,
    value: str,
    plan: RunPlan,
    analysis: ProgramAnalysis,
    recognised: Recognised,
) -> Override:
    """The override of an entry: already so, by a variable of the script, or by arguments."""
    key = entry.key.replace("{section}", recognised.section)
    exact = with_fresh(entry.value.replace("{value}", value), analysis)
    current = value_of(line_of(plan, analysis), key, recognised.table.syntax)
    maybe = analysis.launch.maybe if analysis.launch else ()
    is_set = current or value_of(maybe, key, recognised.table.syntax)
    if entry.present_only and analysis.launch and not is_set:
        return _not_set(request, key, analysis)
    # -1 is the usual value for never, which the code may not know.
    is_interval = exact == NEVER and not (analysis.keys and analysis.keys.is_unguarded(entry.key))
    others = [
        value_of(launch.arguments, key, recognised.table.syntax) for launch in analysis.launches[1:]
    ]
    if (
        current
        and current[1] is not None
        and all(
            other and (_is(other[1], exact) or (is_interval and _is(other[1], "-1")))
            for other in (current, *others)
        )
    ):
        shown = of_current(key, current[1], current[0])
        return Override(
            request,
            change=ProposedChange(
                request, "already so", _at(analysis, current[0]), **asdict(shown, recurse=False)
            ),
        )
    by_variable = analysis.script and entry.variable and analysis.script.uses(entry.variable)
    if by_variable and not analysis.overwritten(entry.variable):
        why = t("The script sets {key} to it.", key=key)
        return Override(request, env=((entry.variable, exact),), why=why)
    if recognised.table.syntax == "argparse":
        arguments = argparse_arguments(key, exact)
    else:
        # YAML 1.1, which OmegaConf reads, takes a bare `no` for false.
        text = ("{" in entry.value and not exact.isdecimal()) or exact == "no"
        written = hydra_text(exact) if text else exact
        # `++` accepts new keys, too; OmegaConf alone takes the signs as a part of the key.
        is_hydra = recognised.table.syntax == "hydra"
        arguments = (hydra_override(key, written) if is_hydra else f"{key}={written}",)
    return Override(request, arguments=arguments)


def _without(
    request: str, flag: KeyEntry, tokens: Sequence[LineWord], analysis: ProgramAnalysis
) -> Override:
    """An argument that is to be removed from a line with these `tokens`, with its value, wherever it is set."""
    if analysis.launch is None:
        change = ProposedChange(request, "not changed", flag.key, no_training_line(analysis.script))
        return Override(request, change=change)
    tokens = [token for at in _places(flag, tokens) for token in tokens[at]]
    if not tokens:
        return _not_set(request, flag.key, analysis)
    if fixed := next((token for token in tokens if token.span is None), None):
        why = t("{flag} has no opposite; remove it yourself.", flag=flag.key)
        shown = SettingText(flag.key, "", t("line {line}", line=fixed.line) if fixed.line else "")
        return Override(
            request,
            change=ProposedChange(
                request, "not changed", _at(analysis, fixed), why, **asdict(shown, recurse=False)
            ),
        )
    return Override(request, edits=tuple(Edit(token, "") for token in tokens))


def _places(flag: KeyEntry, tokens: Sequence[LineWord]) -> Iterator[slice]:
    """Where the flag is in a line, with its value."""
    for i, token in enumerate(tokens):
        after = tokens[i + 1].text if i + 1 < len(tokens) else "--"
        if token.text == flag.key:
            yield slice(i, i + (2 if flag.takes_value and not after.startswith("--") else 1))
        elif flag.takes_value and token.text.startswith(f"{flag.key}="):
            yield slice(i, i + 1)


def _lines_with(
    flag: str, plan: RunPlan, analysis: ProgramAnalysis
) -> Iterator[Sequence[LineWord]]:
    """The main line, and those others that have the flag."""
    maybe = analysis.launch.maybe if analysis.launch else ()
    yield (*maybe, *line_of(plan, analysis))
    for launch in analysis.launches[1:]:
        if any(token.text.partition("=")[0] == flag for token in launch.arguments):
            yield launch.arguments


def line_of(plan: RunPlan, analysis: ProgramAnalysis) -> tuple[LineWord, ...]:
    """The arguments of the training line, and those that the user adds to the script."""
    of_line = analysis.launch.arguments if analysis.launch else ()
    command = plan.command if analysis.script else ()
    script = analysis.root.name if analysis.root else ""
    first = command.index(script) + 1 if script in command else 0
    return (*of_line, *map(LineWord, command[first:]))


def _not_set(request: str, key: str, analysis: ProgramAnalysis) -> Override:
    tokens = [token for launch in analysis.launches for token in launch.arguments]
    holder = token_that_may_hold(key, tokens, analysis.root)
    outcome: Outcome = "set, effect not verified" if holder else "already so"
    why = t("It isn't in the line, but {token} may hold it.", token=holder) if holder else ""
    return Override(
        request, change=ProposedChange(request, outcome, key, why, key=key, value=NOT_SET)
    )


def _at(analysis: ProgramAnalysis, token: LineWord) -> str:
    shown = redact_text(token.text)
    if token.line:
        script = analysis.script_argument
        return t("{text} (line {line} of {script})", text=shown, line=token.line, script=script)
    return t("{text} (in the command)", text=shown)


def _is(value: str | None, exact: str) -> bool:
    return value is not None and _plain(value) == _plain(exact)


def _plain(value: str) -> str:
    bare = "".join(sign for sign in value if sign not in " '\"")
    return bare.lower() if bare.lower() in ("true", "false", "null") else bare


# A text that Hydra's grammar accepts without quotes.
_PLAIN_TEXT = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*")
_NOT_TEXTS = frozenset(
    {"null", "true", "false", "yes", "no", "on", "off", "nan", "inf", "infinity"}
)


def hydra_override(key: str, value: str) -> str:
    """`key` set to `value`, which is written in Hydra's grammar; `++` accepts existing keys and new ones."""
    return f"++{key}={value}"


def hydra_text(text: str) -> str:
    """`text` as a value that Hydra reads as this text."""
    if "${" in text or not _printable(text):
        raise bad_answer(text, t("it holds `${` or a control character"))
    if _PLAIN_TEXT.fullmatch(text) and text.lower() not in _NOT_TEXTS:
        return text
    return hydra_quoted(text)


def hydra_quoted(text: str) -> str:
    """`text` in quotes: a text for Hydra even if it looks like a number."""
    # Backslashes are taken as they are, unless a quote comes after them.
    escaped = re.sub(r"(\\*)('|$)", lambda match: match[1] * 2 + ("\\'" if match[2] else ""), text)
    return f"'{escaped}'"


def argparse_arguments(key: str, value: str) -> tuple[str, ...]:
    """An option with its value; the last one of several counts.

    A value that looks like an option is joined to it by `=`, except a negative number.
    """
    if not _printable(value):
        raise bad_answer(value, t("it holds a control character"))
    if value == "--":
        raise bad_answer(value, t("argparse reads it as the end of the options"))
    negative_number = re.fullmatch(r"-\d+(\.\d+)?", value) is not None
    if value.startswith("-") and not negative_number:
        return (f"{key}={value}",)
    return (key, value)


def _printable(text: str) -> bool:
    return all(character.isprintable() for character in text)


@frozen
class VariableRoute:
    """`arguments` for the training line, or `env` for the program, or `job` for the job that the line submits.

    None of them without a route, and `why` says why.
    """

    arguments: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    job: tuple[tuple[str, str], ...] = ()
    why: str = ""


def variable_route(
    name: str, value: str, plan: RunPlan, analysis: ProgramAnalysis
) -> VariableRoute:
    """The route of the variable `name` to the workers.

    1. A framework that reads it from its configuration: an override.
    2. A framework that sets it itself: no route.
    3. A line that submits a job: the job's runtime_env.  4. A run of ours as a Ray job: the job's environment.
    5. A framework that passes it on: the program's environment.  6. A Ray that the program starts itself: likewise.
    7. A cluster that runs already: no route.
    """
    workers = analysis.recognised.table.workers if analysis.recognised else tables()[-1].workers
    if workers.transport == "override":
        return _override(name, value, workers, analysis)
    if name in workers.fixed and analysis.recognised:
        return VariableRoute(
            why=t(
                "{framework} sets it itself for its workers.",
                framework=analysis.recognised.table.title,
            )
        )
    if analysis.launch and submits(analysis.launch):
        edit = with_variables(analysis.launch, {name: value})
        if isinstance(edit, str):
            return VariableRoute(why=edit)
        return VariableRoute(
            job=((name, value),), why=t("The runtime_env of the submitted job carries it.")
        )
    if plan.kind == "job":
        return _environment(
            name, value, plan, analysis, t("The environment of a job reaches its workers.")
        )
    if _passes_on(workers, name):
        return _environment(name, value, plan, analysis, translated(workers.why))
    if plan.cluster:
        why = t("Workers of a running cluster don't get a variable of the shell.")
        return VariableRoute(why=f"{why} {translated(workers.why)}")
    why = t("It reaches workers of a Ray that the program starts, no others.")
    return _environment(name, value, plan, analysis, why)


def _passes_on(workers: WorkerVariables, name: str) -> bool:
    if workers.transport == "prefix":
        return name.startswith(workers.names)
    return workers.transport == "environment" or name in workers.names


def _override(
    name: str, value: str, workers: WorkerVariables, analysis: ProgramAnalysis
) -> VariableRoute:
    if workers.needs and not read_yaml(analysis.config).at(workers.needs):
        return VariableRoute(
            why=t("The configuration has no {key}, which would hold it.", key=workers.needs)
        )
    override = hydra_override(workers.key.format(name=name), hydra_quoted(value))
    return VariableRoute(arguments=(override,), why=translated(workers.why))


def _environment(
    name: str, value: str, plan: RunPlan, analysis: ProgramAnalysis, why: str
) -> VariableRoute:
    if assigned := analysis.overwritten(name):
        line, script = assigned[0].line, assigned[1]
        return VariableRoute(
            why=t("Line {line} of {script} sets it after us.", line=line, script=script)
        )
    # A submission passes every variable of the plan on by its name, whatever else it exports.
    return VariableRoute(env=((name, value),), why=why)
