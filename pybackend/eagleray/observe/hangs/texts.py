"""A picture as text, for a terminal and as Markdown for an issue: the sentence, the tree, and what was not seen."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import PurePosixPath

from eagleray.common.errors import printable
from eagleray.common.l10n import counted, later, t, translated
from eagleray.common.redact import redact_text
from eagleray.observe.hangs import wording
from eagleray.observe.hangs.exit_texts import end_text
from eagleray.observe.hangs.gpu_texts import gpu_lines
from eagleray.observe.hangs.kind_texts import kind_text
from eagleray.observe.hangs.model import (
    AwaitRow,
    CollectiveRow,
    FrameRow,
    InsideRow,
    Picture,
    RankRow,
    StackClass,
)
from eagleray.observe.hangs.picture import tree_of
from eagleray.observe.hangs.picture_changes import Move
from eagleray.observe.hangs.verdict import Kind
from eagleray.remote.sampling.frames import PythonFrame, is_noise, is_users
from eagleray.remote.sampling.merging import TreeNode
from eagleray.remote.sampling.processes import ACTOR, OTHER, RANK
from eagleray.remote.sampling.rank_sets import RankSet

_MOST_THREADS = 20
_LONGEST_CHAIN = 170
_LONGEST_LINE = 10_000
# Characters that Markdown or HTML would take for more than text, without underscores within a name.
_MARKS = re.compile(r"[\\`*<>\[\]|~]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
REASONS = {
    "ended": later("has ended"),
    "not-found": later("has no process here"),
    "not-given": later("no stack of it was given"),
    "cut": later("its dump has no frame of the main thread"),
    "permission": later("reading it is not allowed"),
    "timeout": later("reading it took too long"),
    "no-tool": later("py-spy is missing"),
    "not-python": later("is not a Python process"),
    "files-deleted": later("its Python was removed or replaced"),
    "seccomp": later("its sandbox (seccomp) may end it"),
}

INSIDE_REASONS = {
    "ended": later("has ended"),
    "stopped": later("is stopped"),
    "permission": later("ptrace is not allowed"),
    "gil-held": later("native code holds the GIL"),
    "cut": later("a part, since there is too much"),
    "importing": later("an import in it is not done"),
    "folder": later("its /tmp can't be used"),
    "busy": later("all threads run native code"),
    "not-python": later("is not a Python process"),
    "processor": later("this works on x86-64 only"),
    "seccomp": later("its sandbox (seccomp) may end it"),
    "limits": later("it is close to a limit of its own"),
    "no-memory": later("it may not map memory"),
    "no-thread": later("it can't start a thread"),
    "not-loaded": later("it can't load what answers"),
    "ended-meanwhile": later("has ended while it was asked"),
    "timeout": later("it did not answer in time"),
    "no-answer": later("it gave no answer"),
}
NATIVE_REASONS = {
    **REASONS,
    "stopped": later("is stopped, or waits for a disk"),
    "pipe-write": later("a stop would cut its write to a pipe"),
    "not-python": later("py-spy could not read them"),
    "no-answer": later("it gave no answer"),
}
STATES = {
    "waits": (later("waits"), later("wait")),
    "runs": (later("runs"), later("run")),
    "ready": (later("is ready"), later("are ready")),
}


def lines(taken: Picture) -> Iterator[str]:
    yield from _verdict(taken)
    yield ""
    yield from tree_lines(tree_of(taken), taken)
    yield from thread_lines(taken)
    yield ""
    if taken.ranks:
        yield _count(taken)
    yield from _unseen(taken)
    yield from ras_lines(taken)
    yield from gpu_lines(taken.ranks)
    yield from native_lines(taken)
    yield from exit_lines(taken)
    yield from inside_lines(taken)
    yield from counter_lines(taken)


def _count(taken: Picture) -> str:
    coverage = taken.coverage
    recorded = sum(bool(row.collectives) for row in taken.ranks)
    if not coverage.processes and recorded and taken.ras:
        return counted(recorded, "NCCL RAS knows {n} rank.", "NCCL RAS knows {n} ranks.")
    if not coverage.processes and recorded:
        return counted(
            recorded,
            "The counters of {n} rank were given.",
            "The counters of {n} ranks were given.",
        )
    if coverage.samples:
        return counted(
            coverage.processes,
            "{n} process, {samples} samples.",
            "{n} processes, {samples} samples.",
            samples=coverage.samples,
        )
    return counted(
        coverage.processes,
        "The stack of {n} process was given.",
        "The stacks of {n} processes were given.",
    )


def markdown(taken: Picture) -> str:
    """The picture for an issue of the user's project: secrets in arguments of commands are hidden."""
    verdict, *rest = map(_escaped, _verdict(taken))
    parts = [_escaped(_origin(taken)), f"**{verdict}**", *rest]
    drawn = (*tree_lines(tree_of(taken), taken), *thread_lines(taken))
    tree = [printable(line, _LONGEST_LINE) for line in drawn]
    if tree:
        # A line of the tree begins with a bracket, so that none of them ends the block.
        parts.append("\n".join(["```text", *tree, "```"]))
    facts = (
        *_unseen(taken),
        *ras_lines(taken),
        *gpu_lines(taken.ranks),
        *native_lines(taken),
        *exit_lines(taken),
        *inside_lines(taken),
        *counter_lines(taken),
    )
    parts.append("\n".join(f"- {_escaped(line)}" for line in facts))
    # Lines of a paragraph would run together.
    return redact_text("\n\n".join(filter(None, parts)) + "\n")


def _origin(taken: Picture) -> str:
    time = datetime.fromtimestamp(taken.taken_at).astimezone().isoformat(" ", "seconds")
    if taken.target:
        return t("Stacks of {target}, taken at {time}", target=taken.target, time=time)
    return t("Stacks, taken at {time}", time=time)


def comparison(moves: Iterable[Move]) -> Iterator[str]:
    listed = list(moves)
    if not listed:
        yield t("No rank has moved between the two pictures.")
    for move in listed:
        yield t(
            "{Ranks}: {before} → {after}",
            Ranks=wording.Ranks_of(move.ranks),
            before=_position(move.before),
            after=_position(move.after),
        )


def tree_lines(nodes: list[TreeNode], taken: Picture) -> Iterator[str]:
    several = _has_names(taken)
    unprinted = [(node, 0) for node in reversed(nodes)]
    while unprinted:
        node, depth = unprinted.pop()
        folded = _folded(node.frames)
        if folded:
            members = _members(node.members, several)
            yield f"{'  ' * depth}[{members}] {_shortened(folded)}"
        unprinted += [(child, depth + bool(folded)) for child in reversed(node.children)]


def thread_lines(taken: Picture) -> Iterator[str]:
    """The threads besides the leading ones."""
    several = _has_names(taken)
    chains = [(each, _folded(_frames(each))) for each in taken.threads]
    shown = [(each, chain) for each, chain in chains if chain]
    if shown:
        yield t("Other threads:")
    for each, chain in shown[:_MOST_THREADS]:
        members = _members({each.group: RankSet.parse(each.ranks)}, several)
        name = f" {each.thread}" if each.thread else ""
        yield f"[{members}]{name}: {_shortened(chain)}"
    if (more := len(shown) - _MOST_THREADS) > 0:
        yield counted(more, "… and {n} more stack", "… and {n} more stacks")


def _frames(each: StackClass) -> list[PythonFrame]:
    return [PythonFrame(frame.function, frame.path, frame.line) for frame in each.frames]


def _verdict(taken: Picture) -> Iterator[str]:
    verdict = taken.verdict
    yield verdict.sentence
    yield verdict.next_step
    yield kind_text(verdict)
    for other in verdict.readings if verdict.kind == Kind.UNKNOWN.value else ():
        yield t("{reading}: {sentence}", reading=kind_text(other), sentence=other.sentence)


def ras_lines(taken: Picture) -> Iterator[str]:
    """Returns the answers of NCCL's RAS; equal answers of nodes appear once."""
    yield from dict.fromkeys(sentence for row in taken.ras for sentence in row.sentences)


def native_lines(taken: Picture) -> Iterator[str]:
    """The native frames of the representative, and what reading them has cost that process."""
    rows = {(each.group, each.rank): each for each in taken.ranks}
    for native in taken.native:
        row = rows.get((native.group, native.rank))
        name = _name(row) if row else str(native.rank)
        if native.reason:
            reason = NATIVE_REASONS.get(native.reason)
            yield t(
                "{name}: no native frames ({reason})",
                name=name,
                reason=translated(reason) if reason else native.reason,
            )
        elif native.frames:
            steps = [f"{frame.function or '?'} ({frame.library})" for frame in native.frames]
            yield t("{name} runs native code: {chain}", name=name, chain=" > ".join(steps))
        else:
            yield t("{name} runs Python code", name=name)
        if native.paused_s:
            yield t(
                "{name} was paused for at most {seconds} s to read this",
                name=name,
                seconds=f"{native.paused_s:.1f}",
            )
        if native.resumed:
            yield _resumed([native.rank])


def exit_lines(taken: Picture) -> Iterator[str]:
    """Returns the last output of ranks, and their exit codes; equal ranks share a line."""
    alike: dict[tuple[str, str], list[int]] = defaultdict(list)
    for each in taken.exits:
        place = f" ({PurePosixPath(each.path).name}:{each.line})" if each.path else ""
        exception = printable(f"{each.exception}{place}", _LONGEST_LINE) if each.exception else ""
        alike[each.group, end_text(each.exit_code, exception)].append(each.rank)
    for (_, end), ranks in alike.items():
        yield t("{Ranks}: {ended}", Ranks=wording.Ranks_of(RankSet.of(ranks)), ended=end)


def inside_lines(taken: Picture) -> Iterator[str]:
    """Returns the answers of processes about themselves: exceptions, awaited tasks and collectives."""
    roles = {(each.group, each.rank): each for each in taken.ranks}
    listed = sorted(taken.inside, key=lambda each: (each.group, each.rank))
    yield from _unread([each for each in listed if each.reason], roles)
    for inside in listed:
        row = roles.get((inside.group, inside.rank))
        name = _name(row) if row else str(inside.rank)
        for held in inside.exceptions:
            if held.variable:
                yield t(
                    "{name} holds {exception} in {variable}{chain}",
                    name=name,
                    exception=held.first or held.text,
                    variable=held.variable,
                    chain=_chain(held.frames),
                )
            else:
                yield t(
                    "{name} handles {exception}{chain}",
                    name=name,
                    exception=held.first or held.text,
                    chain=_chain(held.frames),
                )
        for chain in inside.awaits:
            yield counted(
                chain.count,
                "{name}: task {tasks} {state}{chain}",
                "{name}: {n} tasks {state} ({tasks}){chain}",
                name=name,
                tasks=", ".join(chain.names) + (", …" if chain.count > len(chain.names) else ""),
                state=_state(chain),
                chain=_chain(chain.frames, chain.waits_for),
            )
        for each in row.collectives if row else ():
            yield t(
                "{name}: {group} enqueued {started}, ended {ended} ({call})",
                name=name,
                group=each.group,
                started=each.started,
                ended=each.ended,
                call=each.call,
            )


def counter_lines(taken: Picture) -> Iterator[str]:
    """The collectives of ranks of which recorders or a log were given; equal ranks share a line."""
    inside = {(each.group, each.rank) for each in taken.inside}
    alike: dict[tuple[str, CollectiveRow], list[int]] = defaultdict(list)
    for row in () if taken.ras else taken.ranks:
        for each in row.collectives if (row.group, row.rank) not in inside else ():
            alike[row.group, each].append(row.rank)
    for (_, each), ranks in [*alike.items()][:_MOST_THREADS]:
        yield t(
            "{name}: {group} enqueued {started}, ended {ended} ({call})",
            name=wording.Ranks_of(RankSet.of(ranks)),
            group=each.group,
            started=each.started,
            ended=each.ended,
            call=each.call,
        )
    if (more := len(alike) - _MOST_THREADS) > 0:
        yield counted(more, "… and {n} more group", "… and {n} more groups")


def _unread(silent: Iterable[InsideRow], roles: Mapping[tuple[str, int], RankRow]) -> Iterator[str]:
    """A line for each reason why ranks of a world, or other processes, were not read."""
    names: dict[tuple[str, str], str] = {}
    ranks: dict[tuple[str, str], list[int]] = defaultdict(list)
    for each in silent:
        row = roles.get((each.group, each.rank))
        if row is not None and row.role != RANK:
            names[each.reason, f"{each.group} {each.rank}"] = _name(row)
        else:
            ranks[each.reason, each.group].append(each.rank)
            names[each.reason, each.group] = wording.Ranks_of(
                RankSet.of(ranks[each.reason, each.group])
            )
    for (word, _), name in names.items():
        reason = INSIDE_REASONS.get(word)
        yield t(
            "Not read inside: {name} ({reason})",
            name=name,
            reason=translated(reason) if reason else word,
        )


def _state(chain: AwaitRow) -> str:
    singular, plural = STATES.get(chain.state, (chain.state, chain.state))
    return translated(singular if chain.count == 1 else plural)


def _name(row: RankRow) -> str:
    if row.role == RANK:
        return wording.Ranks_of(RankSet.of([row.rank]))
    return f"{_kind(row)} {row.rank}"


def _kind(row: RankRow) -> str:
    """The class of an actor, since several classes have a number 0; else what the process is."""
    return row.group if row.role == ACTOR else row.role


def _chain(frames: Iterable[FrameRow], end: str = "") -> str:
    plain = [PythonFrame(frame.function, frame.path, frame.line) for frame in frames]
    steps = [*_folded(plain), *([end] if end else [])]
    return f": {' > '.join(steps)}" if steps else ""


def _escaped(line: str) -> str:
    """A line with names from the program, which are neither Markdown nor HTML."""
    return _MARKS.sub(r"\\\g<0>", printable(line, _LONGEST_LINE))


def _unseen(taken: Picture) -> Iterator[str]:
    coverage = taken.coverage
    roles = {(each.group, each.rank): _kind(each) for each in taken.ranks}
    by_reason: dict[tuple[str, str], list[int]] = defaultdict(list)
    for each in coverage.unseen:
        # A rank without a process has no row.
        by_reason[each.reason, roles.get((each.group, each.rank), RANK)].append(each.rank)
    for (reason, role), numbers in by_reason.items():
        yield t(
            "Not seen: {ranks} ({reason})",
            ranks=_numbered(role, RankSet.of(numbers)),
            reason=translated(REASONS[reason]) if reason in REASONS else reason,
        )
    if coverage.main_only:
        yield t(
            "Not seen: further threads of {ranks} (reading them is not allowed)",
            ranks=wording.ranks_of(RankSet.of(coverage.main_only)),
        )
    if coverage.resumed:
        yield _resumed(coverage.resumed)
    if coverage.workers:
        yield t("Not seen: workers other than {name}", name=coverage.workers)
    for node in coverage.nodes:
        why = t("it did not answer in time") if node.reason == "timeout" else node.detail
        yield t("Not seen: node {node} ({reason})", node=node.node, reason=why)


def _numbered(role: str, numbers: RankSet) -> str:
    if role == RANK:
        return wording.ranks_of(numbers)
    if role == OTHER:
        return counted(len(numbers), "process {pids}", "processes {pids}", pids=numbers)
    return f"{role} {numbers}"


def _resumed(ranks: Iterable[int]) -> str:
    return t(
        "Sent SIGCONT to {ranks}, which py-spy had left stopped",
        ranks=wording.ranks_of(RankSet.of(ranks)),
    )


def _folded(frames: Iterable[PythonFrame]) -> list[str]:
    """The frames of a chain that tell something: the user's, and the last."""
    shown = [frame for frame in frames if not is_noise(frame)]
    return [
        f"{wording.short_function(frame)} ({wording.line_of(frame)})"
        for index, frame in enumerate(shown)
        if is_users(frame) or index == len(shown) - 1
    ]


def _shortened(chain: Sequence[str]) -> str:
    """The chain; of a long one both ends, since the inner end shows what is waited for."""
    if len(" > ".join(chain)) <= _LONGEST_CHAIN:
        return " > ".join(chain)
    last: list[str] = []
    room = _LONGEST_CHAIN - len(chain[0])
    for frame in reversed(chain[1:]):
        room -= len(frame) + 3
        if room < 0 and last:
            break
        last.insert(0, frame)
    return " > ".join([chain[0], "…", *last])


def _has_names(taken: Picture) -> bool:
    """Whether labels have the names of groups: without these, numbers are ranks or PIDs."""
    is_named = any(row.role not in (RANK, OTHER) for row in taken.ranks)
    return is_named or len({each.group for each in taken.classes}) > 1


def _members(members: Mapping[str, RankSet], several: bool) -> str:
    return "; ".join(
        f"{group} {ranks}" if several else str(ranks) for group, ranks in members.items()
    )


def _position(each: StackClass | None) -> str:
    if each is None:
        return t("not seen")
    return " > ".join(_folded(_frames(each))[-2:])
