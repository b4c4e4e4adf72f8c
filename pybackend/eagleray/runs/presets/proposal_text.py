"""Prints a debug run: a summary in sentences, its settings grouped by outcome, its effective command and scripts."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import frozen

from eagleray.common.errors import printable
from eagleray.common.l10n import later, listed, t, translated
from eagleray.common.redact import HIDDEN, is_secret, redact_arguments, redact_env, redact_text
from eagleray.runs.model import ProfilePlan, RunPlan, ScriptCopy
from eagleray.runs.presets.analysis import ProgramAnalysis
from eagleray.runs.presets.ended_processes import WARNED
from eagleray.runs.presets.job_submission import returns_at_once
from eagleray.runs.presets.model import (
    OF_VARIABLES,
    OPTIONS,
    POST_MORTEM,
    WITHOUT_EFFECT,
    DebugRunProposal,
    Outcome,
    ProposedChange,
)
from eagleray.runs.scripts.launch_lines import LineWord, value_of
from eagleray.runs.scripts.script_edits import shell_quoted

# Longer lines are hard to read, however wide the terminal is.
WIDEST = 100
_LABEL = 30
_VALUE = 44
_KEY = 56
# Changes come first, then problems.  Outcomes of the whole run are in the summary.
_SECTIONS: tuple[tuple[Outcome, str], ...] = (
    ("will apply", later("Will apply")),
    ("set, effect not verified", later("Set, effect not verified")),
    ("not changed", later("Not changed")),
    ("no such option", later("No such option")),
    ("already so", later("Already so")),
)


def lines_of(made: DebugRunProposal, columns: int = WIDEST, details: bool = False) -> list[str]:
    """At most `columns` wide; `details` shows values in full.  No lines if nothing was requested."""
    lines = textwrap.wrap(printable(made.summary, 2000), columns, break_on_hyphens=False)
    for outcome, title in _SECTIONS:
        changes = [change for change in made.changes if change.outcome == outcome]
        if changes:
            lines += [
                *([""] if lines else []),
                translated(title),
                *_section(changes, columns, details),
            ]
    return lines


def setting_of(change: ProposedChange, details: bool = False) -> str:
    """`trainer.save_freq = 20 -> -1`, `--load_checkpoint: removed (line 12)`; "" for a change without a setting."""
    key, value = change.key, printable(change.value, 4000)
    if not details:
        key = _shortened(key, _KEY)
        value = " -> ".join(_shortened(part, _VALUE) for part in value.split(" -> "))
    joined = " = "
    if value in (REMOVED, NOT_SET):
        joined, value = ": ", translated(value)
    text = f"{key}{joined}{value}" if key and value else key or value
    return f"{text} ({change.place})" if change.place else text


def _section(changes: Sequence[ProposedChange], columns: int, details: bool) -> Iterator[str]:
    """Two columns: the request, and its settings.  What is equal in the row above is left out."""
    label_before = why_before = ""
    for change in changes:
        label, why = change.request.partition(": ")[0], printable(change.why, 1000)
        setting = setting_of(change, details) or printable(change.where, 1000)
        texts = [text for text in (setting, "" if why == why_before else why) if text]
        yield from _row("" if label == label_before else label, texts, columns)
        label_before, why_before = label, why


def _row(label: str, texts: Iterable[str], columns: int) -> Iterator[str]:
    left = textwrap.wrap(printable(label, 200), _LABEL - 1) if label else []
    right = [line for text in texts for line in _wrapped(text, columns - _LABEL - 2)]
    for i in range(max(len(left), len(right))):
        name, text = left[i] if i < len(left) else "", right[i] if i < len(right) else ""
        yield f"  {name:<{_LABEL}}{text}".rstrip()


def _wrapped(text: str, columns: int) -> list[str]:
    return textwrap.wrap(text, columns, subsequent_indent="  ", break_on_hyphens=False)


def _shortened(text: str, limit: int) -> str:
    """Its middle is left out, since beginning and end say the most."""
    if len(text) <= limit:
        return text
    half = (limit - 1) // 2
    return f"{text[:half]}…{text[-half:]}"


# Shown in place of a value, translated.
REMOVED, NOT_SET = later("removed"), later("not set")


@frozen
class SettingText:
    """`value` is ready to be read: `2`, `100 -> 2`, `""`, "removed"."""

    key: str = ""
    value: str = ""
    place: str = ""


def of_variable(name: str, value: str, old: str | None, place: str) -> SettingText:
    return SettingText(name, _changed(name, old, value), place)


def of_arguments(arguments: Sequence[str], line: Sequence[LineWord], syntax: str) -> SettingText:
    """One override or option; several of them have no key."""
    key, value = _parsed(arguments)
    if key is None:
        return SettingText("", redact_text(" ".join(arguments)))
    current = value_of(line, key, syntax)
    return SettingText(key, _changed(key, current[1] if current else None, value))


def of_current(key: str, value: str, token: LineWord) -> SettingText:
    """A setting that the line has already."""
    return SettingText(key, _visible(key, value), _place(token))


def _place(token: LineWord) -> str:
    return t("line {line}", line=token.line) if token.line else t("command")


def _parsed(arguments: Sequence[str]) -> tuple[str | None, str]:
    first, *rest = arguments
    if len(rest) == 1 and first.startswith("--") and "=" not in first:
        return first, rest[0]
    key, equals, value = first.partition("=")
    if rest or not equals:
        return None, ""
    return key.lstrip("+"), value


def _changed(key: str, old: str | None, new: str) -> str:
    after = _visible(key, new)
    return after if old is None else f"{_visible(key, old)} -> {after}"


def _visible(key: str, value: str) -> str:
    bare = value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value
    if not bare:
        return '""'
    return HIDDEN if is_secret(key, value) else redact_text(value)


# A variable that holds a command has one option a line, as the command itself.
_OPTION = re.compile(r" (?=--\w|\+{0,2}[\w.]+=)")


def effective(plan: RunPlan, script: str = "", inner: Sequence[ScriptCopy] = ()) -> str:
    """The command, its environment and the scripts that are run: the plan's copies, else `script` and `inner`."""
    lines = [f"# {t('in {folder}', folder=plan.cwd)}", *_argument_lines(plan.command)]
    lines += ["", f"# {t('environment')}"]
    for name, value in sorted(redact_env(plan.env).items()):
        lines += _OPTION.sub("\n    ", f"{name}={value}").splitlines() or [f"{name}="]
    on_failure = t("Break on Failure: on") if plan.post_mortem else t("Break on Failure: off")
    lines += ["", f"# {on_failure}"]
    if plan.profile is not None:
        lines.append(f"# {t('Record with nsys: {what}', what=_recording(plan.profile))}")
    if plan.copy_text or script:
        lines += ["", f"# {t('script')}"]
        lines += redact_text(plan.copy_text or script).splitlines()
    for copy in plan.inner_copies or inner:
        what = t("a copy of it") if plan.inner_copies else t("as it is")
        lines += ["", f"# {copy.path}: {what}", *redact_text(copy.text).splitlines()]
    return "\n".join(lines) + "\n"


def _recording(profile: ProfilePlan) -> str:
    ranks = "" if profile.ranks is None else _ranks(profile.ranks)
    steps = profile.steps
    when = {
        "always": t("from start to end"),
        "on-demand": t("on demand"),
        "steps": t("steps {steps}", steps=steps) if steps else t("between its own profiler calls"),
    }
    from_start = t("{seconds} s from the start", seconds=f"{profile.seconds:g}")
    moment = when.get(profile.when, from_start)
    parts = [" ".join(profile.workers), ranks, moment, profile.trace, profile.nsys]
    return redact_text(" · ".join(part for part in parts if part))


def _ranks(ranks: Iterable[int]) -> str:
    return t("ranks {ranks}", ranks=", ".join(map(str, ranks)))


def _argument_lines(arguments: Sequence[str]) -> list[str]:
    """One argument per line."""
    return [
        ("    " if i else "") + _quoted(argument)
        for i, argument in enumerate(redact_arguments(arguments))
    ]


def _quoted(argument: str) -> str:
    """The mark of a redacted value needs no quotes."""
    is_plain = shell_quoted(bare := argument.replace(HIDDEN, "_")) == bare
    return argument if is_plain else shell_quoted(argument)


_OF_RUN = ("unknown version", "no framework")
_SURE, _UNSURE = "will", "should"


def summary(
    name: str,
    analysis: ProgramAnalysis,
    changes: Sequence[ProposedChange],
    answers: Mapping[str, str],
    texts: Mapping[str, str],
) -> str:
    """`name` is the framework and its version; `answers` ask for something, `texts` are their questions."""
    phrases: dict[str, list[str]] = {_SURE: [], _UNSURE: []}
    verbs = {
        name: _verb({change.outcome for change in changes if change.option == name})
        for name in answers
    }
    # For a trainer that Eagleray doesn't know only the settings are listed, nothing is promised.
    promises = not (analysis.recognised and analysis.recognised.table.is_unknown)
    for option, phrase in _phrases(answers, texts) if promises else ():
        if verb := verbs[option]:
            phrases[verb].append(phrase)
    subject = t("This debug run of {name}", name=name) if name else t("This debug run")
    parts = [change.why for change in changes if change.outcome in _OF_RUN]
    if sure := phrases[_SURE]:
        parts.append(t("{run} will {actions}.", run=subject, actions=listed(sure)))
    if unsure := phrases[_UNSURE]:
        actions = listed(unsure)
        parts += [
            t("It should also {actions}.", actions=actions)
            if sure
            else t("{run} should {actions}.", run=subject, actions=actions),
            _why_unsure(analysis),
        ]
    warnings = {translated(request) for request in WARNED}
    failed = {
        change.option: change.request
        for change in changes
        if change.outcome == "not changed" and change.request not in warnings
    }
    if any(change.request in warnings for change in changes):
        parts.append(t("Lines of the script end processes by name; they are listed below."))
    if failed:
        requests = listed([f"“{text.partition(': ')[0]}”" for text in failed.values()])
        parts.append(
            t("Eagleray couldn't apply {requests}; the reasons are below.", requests=requests)
        )
    if POST_MORTEM.name in answers and not analysis.elsewhere:
        parts.append(t("A worker that fails pauses at the failing line."))
    parts += _left_behind(analysis, answers["name"] if verbs.get("name") else "")
    if returns_at_once(analysis.launch):
        parts += [
            t("`ray job submit --no-wait` returns before the training starts."),
            t("The job continues in the cluster."),
        ]
    return " ".join(parts)


def _why_unsure(analysis: ProgramAnalysis) -> str:
    if path := analysis.missing_config:
        return t("{path} isn't in this checkout: what it sets is unknown.", path=printable(path))
    return t("This is not verified for this version.")


def _verb(outcomes: set[str]) -> str:
    """ "" if one of its settings has no effect, or there is none."""
    if not outcomes or outcomes & WITHOUT_EFFECT:
        return ""
    return _UNSURE if "set, effect not verified" in outcomes else _SURE


def _phrases(answers: Mapping[str, str], texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Returns the effect of each option, in the order of the form; a framework may name an option differently."""
    for option in (*OPTIONS, *OF_VARIABLES):
        if value := answers.get(option.name):
            text, own = texts.get(option.name, ""), translated(option.text)
            if text in ("", own):
                yield option.name, translated(option.phrase, value=value)
            else:
                yield option.name, t("set “{option}” to {value}", option=text, value=value)


def _left_behind(analysis: ProgramAnalysis, name: str) -> Iterable[str]:
    """`name` is the experiment's new name, "" if it has none."""
    recognised, left = analysis.recognised, []
    for what, where in recognised.table.leaves if recognised and recognised.in_range else ():
        is_named = where and (name or "{name}" not in where)
        kind = translated(what)
        left.append(f"{kind} ({where.replace('{name}', name)})" if is_named else kind)
    if left:
        yield t("It leaves behind {files}.", files=listed(left))
