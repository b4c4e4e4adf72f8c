"""The queue of a server as its metrics say it: what is read, how it is requested, and the verdict on it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from attrs import evolve
from eagleray.common.retry import PollSchedule
from eagleray.rollouts.agents import server_queue
from eagleray.rollouts.agents.model import QueueSample, WaveTotals
from eagleray.rollouts.agents.server_queue import METRICS, QueueWatch, queue_of
from eagleray.rollouts.agents.statistics import wave_statistics
from eagleray.rollouts.agents.verdicts import verdicts

from tests.engine.fixtures import serving
from tests.rollouts.observed import KEY, observe, plan_of
from tests.rollouts.test_model_waves import plan_for
from tests.rollouts.test_verdicts import QUEUED, request_of, run_of, wave

RECORDED = Path(__file__).parent / "recorded" / "vllm-0.32.0-metrics.txt"
BUSY = WaveTotals(in_flight=8)
Metrics = Callable[[web.Request], web.StreamResponse]


def vllm(running: float, waiting: float) -> str:
    return f"vllm:num_requests_running {running}\nvllm:num_requests_waiting {waiting}\n"


SGLANG = """\
# TYPE sglang:num_running_reqs gauge
sglang:num_running_reqs{model_name="m",tp_rank="0",dp_rank="0"} 16.0
sglang:num_running_reqs{model_name="m",tp_rank="1",dp_rank="0"} 16.0
sglang:num_running_reqs{model_name="m",tp_rank="0",dp_rank="1"} 4.0
sglang:num_queue_reqs{model_name="m",tp_rank="0",dp_rank="0"} 3.0
sglang:num_queue_reqs{model_name="m",tp_rank="1",dp_rank="0"} 3.0
sglang:num_queue_reqs{model_name="m",tp_rank="0",dp_rank="1"} 1.0
"""
LLAMA_CPP = "llamacpp:requests_processing 1\nllamacpp:requests_deferred 19\n"


@pytest.mark.parametrize(
    ("metrics", "sample"),
    [
        # vLLM 0.32.0 with --max-num-seqs 8, in a wave of 8 x 8.
        (RECORDED.read_text(), QueueSample(8, 49)),
        (SGLANG, QueueSample(20, 4)),
        (LLAMA_CPP, QueueSample(1, 19)),
        ('vllm:num_requests_running{a="} 7"} 2 1700000000\n' + vllm(1, 3), QueueSample(3, 3)),
        ("vllm:num_requests_running 8\n", None),
        (vllm(8, float("nan")), None),
        (vllm(8, -1), None),
        ("<html>vllm:num_requests_running 8</html>", None),
        ("", None),
    ],
    ids=["vllm", "sglang", "llama.cpp", "labels", "half", "nan", "negative", "html", "empty"],
)
def test_queue_of_metrics(metrics: str, sample: QueueSample | None) -> None:
    assert queue_of(metrics) == sample


class Requests:
    """The requests for metrics that a server has got, with their keys."""

    def __init__(self, answer: Metrics) -> None:
        self.keys: list[str] = []
        self._answer = answer
        self.url = ""

    async def metrics(self, request: web.Request) -> web.StreamResponse:
        assert request.path == METRICS
        self.keys.append(request.headers.get("Authorization", ""))
        return self._answer(request)


@asynccontextmanager
async def answering(answer: Metrics) -> AsyncIterator[Requests]:
    requests = Requests(answer)
    app = web.Application()
    app.router.add_get("/{path:.*}", requests.metrics)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    [(_, port)] = runner.addresses
    requests.url = f"http://127.0.0.1:{port}/v1"
    yield requests
    await runner.cleanup()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_queue, "SERVER_QUEUE", PollSchedule((), 0.02))


async def watched(answer: Metrics, enough: int = 2) -> tuple[QueueWatch, Requests]:
    """Until there are enough samples, or the watch has ended."""
    async with answering(answer) as requests:
        watch = QueueWatch(plan_of("Good", base_url=requests.url))
        watch.update(BUSY)
        task = asyncio.ensure_future(watch.run())
        while len(watch.samples) < enough and not task.done():
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait({task})
        return watch, requests


async def test_queue_is_requested_with_the_key_of_the_server(quick: None) -> None:
    watch, requests = await watched(lambda _: web.Response(text=vllm(8, 40)))
    assert watch.samples[:2] == [QueueSample(8, 40)] * 2
    assert set(requests.keys) == {f"Bearer {KEY}"}


async def test_server_without_metrics_gets_one_request(quick: None) -> None:
    for status in (404, 501):
        watch, requests = await watched(lambda _, status=status: web.Response(status=status))
        assert (watch.samples, len(requests.keys)) == ([], 1)


async def test_answers_that_are_not_a_queue_end_the_watch(quick: None) -> None:
    """A redirect, which isn't followed, too much text, a rejected key, and another program's metrics."""
    answers: list[Metrics] = [
        lambda _: web.Response(status=302, headers={"Location": "/elsewhere"}),
        lambda _: web.Response(text="#" * (5 * 2**20)),
        lambda _: web.Response(status=401),
        lambda _: web.Response(text="http_requests_total 5\n"),
    ]
    for answer in answers:
        watch, requests = await watched(answer)
        assert (watch.samples, len(requests.keys)) == ([], 3)


async def test_idle_server_and_a_single_run_give_no_sample(quick: None) -> None:
    """Requests of a busy client may not have reached it."""
    states = iter([(0, 0), (8, 9)])
    watch, _ = await watched(lambda _: web.Response(text=vllm(*next(states))), enough=1)
    assert watch.samples == [QueueSample(8, 9)]
    async with answering(lambda _: web.Response(text=vllm(1, 0))) as requests:
        await observe(plan_of("Good", base_url=requests.url))
    assert requests.keys == []


SLOW = [run_of(n, requests=(request_of(seconds=1.0 + n / 64),)) for n in range(64)]
FULL = (QueueSample(7, 56), QueueSample(8, 40), QueueSample(8, 0))


@pytest.mark.parametrize(
    ("queue", "sentences"),
    [
        (FULL, ["The server computed 8 requests at once. Up to 56 waited in its queue."]),
        ((QueueSample(1, 9),) * 2, ["The server computed 1 request at once. Up to 9 waited in its queue."]),
        # Once may be by chance, as by the first burst.
        (FULL[:1], []),
        ((QueueSample(64, 0), QueueSample(60, 4)), []),
        ((QueueSample(8, 7),) * 3, []),
        ((), []),
    ],
)  # fmt: skip
def test_verdict_on_a_queue(queue: tuple[QueueSample, ...], sentences: list[str]) -> None:
    """All requests take long, so that their times alone tell nothing."""
    observed = evolve(wave(SLOW, seconds=2.5), queue=queue)
    assert [verdict.sentence for verdict in verdicts(observed)] == sentences


def test_times_are_not_a_queue_where_the_server_has_none() -> None:
    observed = wave(QUEUED, seconds=1.6)
    few = (QueueSample(64, 0),) * 2
    assert [each.kind for each in verdicts(evolve(observed, queue=few))] == ["server-saturated"]
    assert verdicts(evolve(observed, queue=few * 2)) == ()


async def test_real_queue_is_read_in_a_wave(
    own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It uses a real llama.cpp with one slot; most requests wait all the time."""
    monkeypatch.setattr(server_queue, "SERVER_QUEUE", PollSchedule((), 0.1))
    with serving("--slots", "1", "--metrics") as small:
        observed = await observe(plan_for(small, "Talks", groups=5, group_size=4))
    assert wave_statistics(observed).done == 20
    most = max(sample.waiting for sample in observed.queue)
    assert 3 < most < 20
    assert [verdict.sentence for verdict in verdicts(observed)] == [
        f"The server computed 1 request at once. Up to {most} waited in its queue."
    ]
