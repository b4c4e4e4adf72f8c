"""Steps that nsys is to record, told to a framework that has its own switch for them."""

from __future__ import annotations

import json
from dataclasses import replace

from eagleray.features.runs.plan import ProfilePlan, RunPlan
from eagleray.features.runs.presets.effective import effective
from eagleray.features.runs.presets.facts import Facts
from eagleray.features.runs.presets.override_words import hydra_text, hydra_word
from eagleray.features.runs.presets.proposal import Change, Proposal
from eagleray.features.runs.presets.propose import put
from eagleray.features.runs.presets.recognise import Recognised
from eagleray.features.runs.presets.table import Switch
from eagleray.features.runs.presets.wishes import Wish, variable_wish

ASKED = "Steps to record"
_WILD = set("*?[")


def with_switch(made: Proposal, facts: Facts, original: RunPlan) -> Proposal:
    """The proposal with the switch of its framework; `original` is the plan without any preset.

    1. No framework, one without a switch, or a version that was not read: the program's own calls of
       cudaProfilerApi say what is recorded.  2. No steps were named, or workers as this framework does not know
       them: likewise.  3. The framework is told, all keys or none, and runs its workers under nsys itself; what that
       writes is gathered as ours is.
    """
    plan, known = made.plan, facts.recognised
    profile = plan.profile
    assert profile is not None
    switch = known.table.profile if known and known.known else None
    if known is None or switch is None or not switch.exists_in(_nearest(known)):
        return _as_it_is(made, "No framework with a switch of its own was recognised.")
    values = _values(profile, switch, plan, known.table.framework)
    if isinstance(values, str):
        return _as_it_is(made, values)
    wishes = _wishes(switch, values, plan, facts, _nearest(known))
    after, changes = put(plan, facts, wishes)
    if any(change.outcome == "not changed" for change in changes):
        # Half of a switch is refused by the framework, or does nothing.
        reasons = [one.why for one in changes if one.outcome == "not changed"]
        return _as_it_is(made, f"{known.table.title} cannot be told: {reasons[0]}")
    before = made.before
    if after.copy_text and not plan.copy_text and facts.script:
        # Otherwise every line of the copied script would be an added one.
        before = effective(original, facts.script.text)
    changes = [*made.changes, *changes]
    return replace(made, plan=after, before=before, after=effective(after), changes=tuple(changes))


def _nearest(known: Recognised) -> str:
    return known.table.nearest(known.version.text)


def _as_it_is(made: Proposal, why: str) -> Proposal:
    where = "where the program calls cudaProfilerApi (torch.cuda.profiler)"
    return replace(made, changes=(*made.changes, Change(ASKED, "will apply", where, why)))


def _values(
    profile: ProfilePlan, switch: Switch, plan: RunPlan, framework: str
) -> dict[str, str] | str:
    """What stands for the words in braces; why not, where the framework cannot say it."""
    if not profile.steps:
        return "No steps were named."
    first, _, end = profile.steps.partition(":")
    if int(first) < switch.first:
        return f"Its first step is {switch.first}."
    groups = ["all"] if "*" in profile.workers else list(profile.workers)
    if switch.groups == "names" and any(_WILD.intersection(one) for one in groups):
        return "It knows groups of workers by their names and not by patterns."
    if switch.groups == "all" and "*" not in profile.workers:
        return "It records all of its workers and no others; `*` asks for that."
    steps = list(range(int(first), int(end)))
    folder = profile.output or f"{plan.cwd}/eagleray-profiles"
    return {
        "patterns": ",".join(profile.workers),
        "groups": json.dumps(groups, separators=(",", ":")).replace('"', ""),
        "steps": profile.steps,
        "list": json.dumps(steps, separators=(",", ":")),
        "count": str(len(steps)),
        "trace": hydra_text(profile.trace) if switch.entries else profile.trace,
        "options": json.dumps(profile.options) if profile.options else "",
        "all_ranks": "true" if profile.ranks is None else "false",
        "ranks": json.dumps(list(profile.ranks or ()), separators=(",", ":")),
        "output": f"{folder}/{framework}",
    }


def _wishes(
    switch: Switch, values: dict[str, str], plan: RunPlan, facts: Facts, version: str
) -> list[Wish]:
    found = []
    for entry in switch.entries:
        if check := entry.check(version):
            word = hydra_word(entry.key, _filled(entry.value, values))
            found.append(Wish(ASKED, words=(word,), why=switch.why, verified=bool(check.acts)))
    for entry in switch.environment:
        exact, check = _filled(entry.value, values), entry.check(version)
        if exact and check:
            wish = variable_wish(ASKED, entry.key, exact, plan, facts)
            found.append(replace(wish, verified=bool(check.acts)))
    return found


def _filled(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text
