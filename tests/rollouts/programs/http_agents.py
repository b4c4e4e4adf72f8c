"""Agents that send their requests by httpx, as many small public ones do."""

import asyncio
import importlib
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit


def post_by(client, data, extra):
    url = f"{extra['base_url']}/chat/completions"
    return client.post(url, json={"model": data["model"], "messages": []})


def library(extra):
    """httpx or httpx2, whichever there is."""
    return importlib.import_module(type(extra["http_client"]).__module__.partition(".")[0])


class Shared:
    async def run(self, data, **extra):
        answer = await post_by(extra["http_client"], data, extra)
        return float(answer.status_code == 200)


class Synchronous:
    client = None

    async def run(self, data, **extra):
        if self.client is None:
            self.client = library(extra).Client()
        post_by(self.client, data, extra)
        return 1.0


class StreamsSynchronously:
    client = None

    async def run(self, data, **extra):
        if self.client is None:
            self.client = library(extra).Client()
        request = {"model": data["model"], "messages": []}
        url = f"{extra['base_url']}/chat/completions"
        with self.client.stream("POST", url, json=request) as answer:
            return float(len(answer.read()) > 0)


class SmallPool:
    client = None

    async def run(self, data, **extra):
        if self.client is None:
            limits = library(extra).Limits(max_connections=2)
            self.client = library(extra).AsyncClient(limits=limits, timeout=60)
        await post_by(self.client, data, extra)
        return 1.0


class SharesMessages:
    """All runs append to one list."""

    def __init__(self):
        self.messages = []

    async def run(self, data, **extra):
        messages = self.history()
        for turn in range(data["turns"]):
            messages.append({"role": "user", "content": f"Question {turn}"})
            request = {"model": data["model"], "messages": messages}
            url = f"{extra['base_url']}/chat/completions"
            answer = await extra["http_client"].post(url, json=request)
            messages.append(answer.json()["choices"][0]["message"])
        return 1.0

    def history(self):
        return self.messages


EXAMPLE = "Answer 1 of this server, which no other request gets."


class KeepsMessages(SharesMessages):
    """Each run has its own list, which begins with an example that the server happens to repeat."""

    def history(self):
        return [{"role": "assistant", "content": EXAMPLE}]


class Computes(Shared):
    """Makes the loop late between its requests."""

    async def run(self, data, **extra):
        await super().run(data, **extra)
        until = time.monotonic() + 0.03
        while time.monotonic() < until:
            pass
        return await super().run(data, **extra)


class Retries(Shared):
    async def run(self, data, **extra):
        while not await super().run(data, **extra):
            await asyncio.sleep(0.05)
        return 1.0


class Sockets:
    """A client that isn't observed."""

    async def run(self, data, **extra):
        base_url = extra.get("base_url") or os.environ["OPENAI_BASE_URL"]
        parts = urlsplit(base_url)
        body = json.dumps({"model": data["model"]}).encode()
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        head = (
            f"POST {parts.path}/chat/completions HTTP/1.1\r\nHost: server\r\nConnection: close\r\n"
        )
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        answer = await reader.read()
        writer.close()
        return float(b" 200 " in answer)


class TakesTurns(Shared):
    turn = None

    async def run(self, data, **extra):
        if self.turn is None:
            self.turn = asyncio.Semaphore(data["turns"])
        async with self.turn:
            return await super().run(data, **extra)


class InThreads:
    client = None

    async def run(self, data, **extra):
        if self.client is None:
            self.client = library(extra).Client()
            asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(4))
        await asyncio.to_thread(post_by, self.client, data, extra)
        return 1.0


class Rests(Shared):
    """One after another, as its tool takes its time."""

    rested = 0

    async def run(self, data, **extra):
        self.rested += 1
        await asyncio.sleep(0.05 * self.rested)
        return await super().run(data, **extra)
