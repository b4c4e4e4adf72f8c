"""Says what is wrong with a wave: pure rules over what was observed, with their reasons.

Thresholds come from measurements of 64 concurrent runs against a real server on two cores: with one shared client the
loop lagged 80-91 ms; with a client for each run 1.2-1.4 s (its constructor takes 23 ms); with a synchronous client
2.3-2.6 s, one request at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from eagleray.common.l10n import counted, t
from eagleray.rollouts.agents.answers import failed_answers, rejected_requests
from eagleray.rollouts.agents.left_tasks import left_tasks
from eagleray.rollouts.agents.model import (
    AgentRun,
    BlockingCall,
    CodeLine,
    HeldLoop,
    Observed,
    WaveVerdict,
)
from eagleray.rollouts.agents.shared_messages import shared_messages
from eagleray.rollouts.agents.statistics import answered_requests, at_share

# A line that waits for so long in the loop's thread blocks every run; a healthy wave lags a fifth of it.
BLOCKED_S = 0.5
# A line of a single run, which others would have to wait for.
BLOCKED_ONCE_S = 0.2
# One computation that is this long is not the share of a library in concurrent work.
COMPUTES_S = 0.1
# On a busy machine a single sample may come late, and is charged with all the time since the one before.
BLOCKED_SAMPLES = 3
# Beside a line that holds the loop for long, others are late with it.
BLOCKED_SHARE = 0.1
# A coroutine of a library is at times sampled while it sends or waits for a lock; a line that blocks does little else.
BLOCKED_MOSTLY = 0.5
# The user's own code is a share of its own: short computations of all runs may take a large part of a wave.
OWN_SHARE = 0.25
# Above this share the line is named instead of the function.
SINGLE_LINE_SHARE = 0.8
# The share of all runs, in several samples.
CONTENTION_SHARE = 1 / 3
CONTENTION_SAMPLES = 3
CONTENTION_FACTOR = 2
CLIENT_SHARE = 0.8
# A healthy pool assigns a connection within a millisecond.
POOL_WAIT_S = 0.1
POOL_SHARE = 0.2
# A queue: most requests take this many times as long as the quickest, or the server has this
# many times as many as it computes at once.
QUEUE_FACTOR = 4.0
QUEUE_SLOTS = 2.0
QUEUE_LEAST_S = 0.2
QUEUE_REQUESTS = 16
# One sample can show the first burst alone. If few requests wait in several samples, the server has no queue.
QUEUE_SAMPLES = 2
NO_QUEUE_SAMPLES = 3
STRAGGLER_FACTOR = 3.0
STRAGGLER_LEAST_S = 1.0
_MOST_LINES = 3
# A synchronous request in the loop's thread needs no samples, but a single one in a long wave doesn't make it slow.
CALLS_SHARE = 0.01

Rule = Callable[[Observed], Iterable[WaveVerdict]]


def verdicts(observed: Observed) -> tuple[WaveVerdict, ...]:
    """The most decisive first: what holds the loop also makes requests slow, so later rules look at what is left."""
    named = [
        *rejected_requests(observed),
        *_blocking_calls(observed),
        *_self_limited(observed),
        *_client_per_run(observed),
        *_pool_exhausted(observed),
    ]
    if not named and may_be_queued(observed) and _is_queued(observed):
        named.append(WaveVerdict("server-saturated", _queue(observed)))
    named += _timeouts(observed)
    if not named:
        named += _stragglers(observed)
    # They explain what agents do, not how long it takes.
    return (
        *failed_answers(observed),
        *named,
        *left_tasks(observed),
        *shared_messages(observed),
    )


def _blocking_calls(observed: Observed) -> Iterable[WaveVerdict]:
    """1. The line at which the loop is stuck.

    2. Lines with synchronous requests in the loop's thread, which block it by definition.
    3. Lines that wait in the loop's thread, or compute there for long, in several samples and for a share of all the
    time that lines held the loop; not what coroutines of libraries compute.
    4. Functions of the user's own code that compute for long, or short ones of all runs for a large part of the wave.
    In processes each run has a loop of its own, which it may hold.
    """
    if observed.is_stuck and observed.stuck_at is not None:
        place = observed.stuck_at
        sentence = t(
            "{call} held the event loop for over {limit} s. Runs were ended.",
            call=_call(place),
            limit=f"{observed.plan.timeout_s or 0:g}",
        )
        yield WaveVerdict("blocking-call", sentence, place.file, place.line)
        return
    if observed.plan.mode == "subproc":
        return
    totals = observed.totals
    certain = [call for call in totals.blocking if call.seconds >= CALLS_SHARE * totals.seconds]
    certain = sorted(certain, key=lambda call: -call.seconds)[:_MOST_LINES]
    yield from (_synchronous(call, totals.seconds) for call in certain)
    least = BLOCKED_S if observed.plan.runs > 1 else BLOCKED_ONCE_S
    least = max(least, BLOCKED_SHARE * sum(line.total_s for line in totals.lines))
    named = {_file_and_line(call.place) for call in certain}
    sampled = [line for line in totals.lines if _file_and_line(line.place) not in named]
    held = [line for line in sampled if _blocks(line, least)]
    blocked = [(line, _blocked_s(line), False) for line in held]
    others = [line for line in sampled if line not in held]
    blocked += _computing_functions(others, least, totals.seconds)
    blocked = sorted(blocked, key=lambda each: -each[1])[: _MOST_LINES - len(certain)]
    for line, blocked_s, is_function in blocked:
        place, seconds = line.place, f"{blocked_s:.1f}"
        sentence = (
            t(
                "`{function}` computed for {seconds} s; the event loop waited.",
                function=place.function,
                seconds=seconds,
            )
            if is_function
            else t(
                "{call} blocked the event loop for {seconds} s.", call=_call(place), seconds=seconds
            )
        )
        yield WaveVerdict("blocking-call", sentence, place.file, place.line)


def _synchronous(call: BlockingCall, wave_s: float) -> WaveVerdict:
    sentence = counted(
        call.calls,
        "{call} blocked the event loop for {seconds} s in {n} request ({share}%).",
        "{call} blocked the event loop for {seconds} s in {n} requests ({share}%).",
        call=_call(call.place),
        seconds=f"{call.seconds:.1f}",
        share=min(100, round(100 * call.seconds / (wave_s or call.seconds or 1.0))),
    )
    return WaveVerdict("blocking-call", sentence, call.place.file, call.place.line)


def _computing_functions(
    lines: Iterable[HeldLoop], least_s: float, wave_s: float
) -> Iterable[tuple[HeldLoop, float, bool]]:
    """For each such function the line that computes most, the seconds of all lines, and whether several are to blame."""
    functions: dict[tuple[str, str], list[HeldLoop]] = {}
    for line in lines:
        functions.setdefault((line.place.file, line.place.function), []).append(line)
    for parts in functions.values():
        own_s = sum(line.own_s for line in parts)
        is_long = max(line.longest_s for line in parts) >= COMPUTES_S or own_s >= OWN_SHARE * wave_s
        if own_s >= least_s and is_long and sum(line.samples for line in parts) >= BLOCKED_SAMPLES:
            most = max(parts, key=lambda line: line.own_s)
            yield most, own_s, most.own_s < SINGLE_LINE_SHARE * own_s


def _blocks(line: HeldLoop, least_s: float) -> bool:
    if line.samples < BLOCKED_SAMPLES or _blocked_s(line) < BLOCKED_MOSTLY * line.total_s:
        return False
    if line.own_s > BLOCKED_MOSTLY * _blocked_s(line):
        # The lines around it compute with it.
        return False
    # A synchronous call of a library waits and computes.
    waits = line.waiting_s >= BLOCKED_MOSTLY * _blocked_s(line)
    if line.waiting_s >= least_s or (waits and _blocked_s(line) >= least_s):
        return True
    return line.longest_s >= COMPUTES_S and line.computing_s >= least_s


def _blocked_s(line: HeldLoop) -> float:
    return line.waiting_s + line.computing_s


def _call(place: CodeLine) -> str:
    if not place.file:
        return t("A library")
    return f"`{place.text[:60]}`" if place.text else f"{place.file}:{place.line}"


def _self_limited(observed: Observed) -> Iterable[WaveVerdict]:
    """Runs wait for each other in the agent, so that few of them are in a request at once.

    Unobserved requests would make the number wrong.
    """
    totals, contention = observed.totals, observed.totals.contention
    most = totals.max_requests_in_flight
    if contention is None or totals.unobserved or contention.samples < CONTENTION_SAMPLES:
        return
    if (
        contention.share < CONTENTION_SHARE
        or not 0 < CONTENTION_FACTOR * most <= totals.max_in_flight
    ):
        return
    limit = t(
        "At most {n} of {runs} runs were in a request at once.", n=most, runs=totals.max_in_flight
    )
    where = (
        t("Others waited for the lock or semaphore here.")
        if contention.kind == "lock"
        else t("Others waited for a thread of `to_thread` here.")
    )
    yield WaveVerdict("self-limited", f"{limit} {where}", *_file_and_line(contention.place))


def _client_per_run(observed: Observed) -> Iterable[WaveVerdict]:
    """A wave in which nearly every run makes a client; its own pool and TLS settings cost each of them."""
    if observed.plan.mode == "subproc" or len(observed.runs) < 2:
        return
    with_client = [run for run in observed.runs if run.clients]
    if len(with_client) < CLIENT_SHARE * len(observed.runs):
        return
    seconds = sum(run.client_s for run in with_client)
    place = _most_common(run.client_place for run in with_client)
    sentence = t(
        "Each run makes an HTTP client, {seconds} s in all. Use `http_client`.",
        seconds=f"{seconds:.1f}",
    )
    yield WaveVerdict("client-per-run", sentence, *_file_and_line(place))


def _pool_exhausted(observed: Observed) -> Iterable[WaveVerdict]:
    """1. The client gave up waiting for a connection.

    2. Requests found all connections of their client in use, and waited for a large part of their time.  In processes the first request of each only imports.
    """
    failed = [run for run in observed.runs if run.error is not None and run.error.is_pool_timeout]
    if failed:
        sentence = counted(
            len(failed),
            "{n} run got no connection. The client's pool is too small.",
            "{n} runs got no connection. The client's pool is too small.",
        )
        error = failed[0].error
        assert error is not None
        yield WaveVerdict("pool-exhausted", sentence, error.file, error.line)
        return
    requests = answered_requests(observed.runs)
    full = [request for request in requests if request.pool_limit is not None]
    waited = sum(request.pool_s or 0.0 for request in full)
    longest = max((request.pool_s or 0.0 for request in full), default=0.0)
    spent = sum(request.seconds or 0.0 for request in requests)
    if observed.plan.mode == "subproc" or observed.plan.runs == 1:
        return
    if longest >= POOL_WAIT_S and waited >= POOL_SHARE * spent:
        sentence = counted(
            min(request.pool_limit or 0 for request in full),
            "The client has {n} connection; requests waited up to {seconds} s for it.",
            "The client has {n} connections; requests waited up to {seconds} s for one.",
            seconds=f"{longest:.1f}",
        )
        place = _most_common(run.client_place for run in observed.runs)
        yield WaveVerdict("pool-exhausted", sentence, *_file_and_line(place))


def may_be_queued(observed: Observed) -> bool:
    """Whether there are enough comparable requests, and most take long; what the server says of itself tells more."""
    seconds = _comparable_s(observed)
    return len(seconds) >= QUEUE_REQUESTS and at_share(seconds, 0.5) >= QUEUE_LEAST_S


def _is_queued(observed: Observed) -> bool:
    """1. The server had, on average, many times as many requests as it computes at once, by the slots that it has.

    2. So it is by what its metrics say of its queue; if hardly anything waits there, requests aren't slow for that.
    3. Most requests take many times as long as the quickest.  On a busy machine the quickest may be slow, too.
    """
    seconds = _comparable_s(observed)
    slots = observed.server_slots
    if slots is not None and sum(seconds) >= QUEUE_SLOTS * slots * observed.totals.seconds:
        return True
    if _queue_is_long(observed):
        return True
    if slots is None and len(observed.queue) >= NO_QUEUE_SAMPLES:
        return False
    return at_share(seconds, 0.5) >= QUEUE_FACTOR * at_share(seconds, 0.05)


def _queue_is_long(observed: Observed) -> bool:
    running = sum(sample.running for sample in observed.queue)
    waiting = sum(sample.waiting for sample in observed.queue)
    return (
        len(observed.queue) >= QUEUE_SAMPLES
        and waiting > 0
        and running + waiting >= QUEUE_SLOTS * running
    )


def _queue(observed: Observed) -> str:
    """Returns the server's own count, else the measured one.

    A count that is derived from times is wrong on a busy machine: the client's own time, such as the time of the first
    connections, counts as the server's. It was 5 for a server with one slot.
    """
    if _queue_is_long(observed):
        return counted(
            max(sample.running for sample in observed.queue),
            "The server computed {n} request at once. Up to {waiting} waited in its queue.",
            "The server computed {n} requests at once. Up to {waiting} waited in its queue.",
            waiting=max(sample.waiting for sample in observed.queue),
        )
    slots = observed.server_slots
    if slots is not None and slots < observed.totals.max_requests_in_flight:
        return counted(
            slots,
            "The server is the limit: it computes {n} request at once.",
            "The server is the limit: it computes {n} requests at once.",
        )
    seconds = _comparable_s(observed)
    return t(
        "Half the requests took over {middle} s, the quickest {quickest} s.",
        middle=f"{at_share(seconds, 0.5):.1f}",
        quickest=f"{seconds[0]:.2f}",
    )


def _comparable_s(observed: Observed) -> list[float]:
    """The ordered times of requests with tokens, but for much shorter answers; of all where no tokens are known.

    What an agent's tools request is quick, and says nothing about the server.
    """
    answered = answered_requests(observed.runs)
    generated = [(request, request.tokens) for request in answered if request.tokens]
    middle = at_share(sorted(tokens for _, tokens in generated), 0.5) if generated else 0
    return sorted(
        (request.seconds or 0.0) - (request.pool_s or 0.0)
        for request, tokens in generated or [(request, 0) for request in answered]
        if 2 * tokens >= middle
    )


def _timeouts(observed: Observed) -> Iterable[WaveVerdict]:
    """The line at which most runs were that didn't end in time."""
    late = [run for run in observed.runs if run.outcome == "timeout"]
    if not late:
        return
    limit = observed.plan.timeout_s or 0.0
    sentence = counted(
        len(late),
        "{n} run took longer than {limit} s.",
        "{n} runs took longer than {limit} s.",
        limit=f"{limit:g}",
    )
    yield WaveVerdict("timeout", sentence, *_file_and_line(_most_common(run.place for run in late)))


def _stragglers(observed: Observed) -> Iterable[WaveVerdict]:
    """The slowest run of a group, which the whole group waits for, against the median of its group."""
    worst: tuple[float, AgentRun] | None = None
    count = 0
    for group in _groups(observed.runs):
        ordered = sorted(run.seconds for run in group)
        slowest = max(group, key=lambda run: run.seconds)
        middle = at_share(ordered, 0.5)
        late = slowest.seconds - middle
        if (
            len(group) > 2
            and late >= STRAGGLER_LEAST_S
            and ordered[-1] >= STRAGGLER_FACTOR * middle
        ):
            count += 1
            if worst is None or late > worst[0]:
                worst = (late, slowest)
    if worst is None:
        return
    late, run = worst
    sentence = counted(
        count,
        "{n} group waits for one run; item {item} takes {seconds} s longer.",
        "{n} groups wait for one run; item {item} takes {seconds} s longer.",
        item=run.item,
        seconds=f"{late:.1f}",
    )
    yield WaveVerdict("straggler", sentence)


def _groups(runs: Iterable[AgentRun]) -> list[list[AgentRun]]:
    groups: dict[int, list[AgentRun]] = {}
    for run in runs:
        if run.outcome in ("done", "rejected", "failed"):
            groups.setdefault(run.group, []).append(run)
    return list(groups.values())


def _most_common(places: Iterable[CodeLine | None]) -> CodeLine | None:
    present: Sequence[CodeLine] = [place for place in places if place is not None]
    if not present:
        return None
    (file, line), _ = Counter((place.file, place.line) for place in present).most_common(1)[0]
    return next(place for place in present if (place.file, place.line) == (file, line))


def _file_and_line(place: CodeLine | None) -> tuple[str, int]:
    return (place.file, place.line) if place else ("", 0)
