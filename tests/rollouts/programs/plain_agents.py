"""Agents that send no request: what they return, raise and leave behind is tested."""

import asyncio
import os
import sys
import threading
import time


class Good:
    async def run(self, data, **extra_kwargs):
        return 1.0


class Item:
    """Its reward is in its data; the third item raises."""

    async def run(self, data, **extra_kwargs):
        await asyncio.sleep(0)
        if data["n"] == 3:
            raise KeyError("answer")
        return float(data["n"])


class Returns:
    def __init__(self, value=None):
        self.value = value

    async def run(self, data, **extra_kwargs):
        return self.value


class ReturnsNan:
    async def run(self, data, **extra_kwargs):
        return float("nan")


class Exits:
    async def run(self, data, **extra_kwargs):
        if data["n"] == 2:
            sys.exit(3)
        return 1.0


class ExitsInTask:
    async def run(self, data, **extra_kwargs):
        task = asyncio.ensure_future(self.leave())
        await asyncio.wait([task])
        return 1.0

    async def leave(self):
        sys.exit(3)


class RaisesBase:
    async def run(self, data, **extra_kwargs):
        if data["n"] == 2:
            raise BaseException("not an Exception")
        return 1.0


class RaisesUnprintable:
    async def run(self, data, **extra_kwargs):
        raise Unprintable


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no text")


class EndsProcess:
    async def run(self, data, **extra_kwargs):
        if data["n"] == 2:
            os._exit(7)
        return 1.0


class NeverEnds:
    async def run(self, data, **extra_kwargs):
        if data["n"] == 2:
            print("waits for ever", flush=True)
            await asyncio.Event().wait()
        return 1.0


class NeverEndsAlone:
    async def run(self, data):
        if data["n"] == 2:
            await asyncio.Event().wait()
        return 1.0


class SwallowsCancellation:
    async def run(self, data, **extra_kwargs):
        while data["n"] == 2:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                continue
        return 1.0


class HoldsLoop:
    async def run(self, data, **extra_kwargs):
        threading.Event().wait()
        return 1.0


class Sleeps:
    async def run(self, data, **extra_kwargs):
        time.sleep(0.1)
        return 1.0


class Prints:
    async def run(self, data, **extra_kwargs):
        for _ in range(100):
            print("x" * 1024 * 1024)
        print("the end")
        return 1.0


class PrintsInTurns:
    async def run(self, data, **extra_kwargs):
        print(data["n"], "begins")
        await asyncio.sleep(0.01)
        await asyncio.to_thread(print, data["n"], "warns", file=sys.stderr)
        await asyncio.sleep(0.01)
        print(data["n"], "ends", flush=True)
        raise ValueError


class PrintsMuch:
    def __init__(self, token):
        self.token = token

    async def run(self, data, **extra_kwargs):
        for number in range(10_000):
            print("line", number)
        print(extra_kwargs["api_key"], self.token)
        print("the end", flush=True)
        return 1.0


class PrintsKey:
    async def run(self, data, **extra_kwargs):
        print("key", extra_kwargs["api_key"], flush=True)
        raise ValueError(extra_kwargs["api_key"])


class StartsThreads:
    async def run(self, data, **extra_kwargs):
        threading.Thread(target=threading.Event().wait, name="left-behind").start()
        return 1.0


class NotAsync:
    def run(self, data, **extra_kwargs):
        return 1.0


class WithoutRun:
    pass


class WithoutKeywords:
    async def run(self, data):
        return 1.0


class Unpicklable:
    def __init__(self):
        self.lock = threading.Lock()

    async def run(self, data):
        return 1.0


class Workflow:
    async def arun_episode(self, engine, data):
        return None


class ReadsInput:
    async def run(self, data, **extra_kwargs):
        return float(len(sys.stdin.read()))


class Environment:
    async def run(self, data):
        names = ("OPENAI_BASE_URL", "OPENAI_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY")
        return {name: os.environ[name] for name in names}


class LeavesTasks:
    """Each run leaves two tasks that still run; it cancels one, awaits one, and one ends before the run."""

    async def run(self, data, **extra_kwargs):
        for _ in range(2):
            self.last = asyncio.create_task(asyncio.sleep(3600))
        stopped = asyncio.ensure_future(self.waits())
        await asyncio.gather(asyncio.sleep(0), asyncio.wait_for(asyncio.sleep(0), 5))
        stopped.cancel()
        return 1.0

    async def waits(self):
        await asyncio.shield(asyncio.sleep(3600))


class SharesWorker:
    worker = None

    async def run(self, data, **extra_kwargs):
        if self.worker is None:
            self.worker = asyncio.get_running_loop().create_task(asyncio.Event().wait())
        await asyncio.sleep(0.01)
        return 1.0


class GathersUntilFailure:
    async def run(self, data, **extra_kwargs):
        await asyncio.gather(asyncio.sleep(3600), self.fails())

    async def fails(self):
        raise ValueError("no tool")


class OwnTaskFactory:
    async def run(self, data, **extra_kwargs):
        loop = asyncio.get_running_loop()
        loop.set_task_factory(lambda loop, coroutine, **kwargs: asyncio.Task(coroutine, loop=loop))
        self.task = asyncio.create_task(asyncio.sleep(3600))
        return 1.0
