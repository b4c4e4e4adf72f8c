"""Agents that send their requests by clients other than httpx."""

import asyncio
import http.client
import json
import os
import threading
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import aiohttp
import requests
import urllib3


def url_of(extra):
    return f"{extra.get('base_url') or os.environ['OPENAI_BASE_URL']}/chat/completions"


def request_of(data):
    return {"model": data["model"], "messages": [], "stream": data.get("stream", False)}


class InThread:
    """`send` runs in a thread of the loop's pool, which gets no context."""

    async def run(self, data, **extra):
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, self.send, url_of(extra), request_of(data))


class Requests(InThread):
    def send(self, url, request):
        answer = requests.post(url, json=request, stream=request["stream"])
        return float(len(b"".join(answer.iter_lines())) > 0)


class Session(InThread):
    def __init__(self):
        self.session = requests.Session()

    def send(self, url, request):
        answer = self.session.post(url, json=request)
        return float(answer.ok and answer.json()["choices"][0]["index"] == 0)


class Urllib3(InThread):
    def send(self, url, request):
        answer = urllib3.PoolManager().request(
            "POST", url, json=request, preload_content=not request["stream"]
        )
        return float(len(b"".join(answer.stream(64)) or answer.data) > 0)


class Urllib(InThread):
    def send(self, url, request):
        with urllib.request.urlopen(
            urllib.request.Request(url, json.dumps(request).encode())
        ) as answer:
            return float(sum(map(len, answer)) > 0)


class HttpClient(InThread):
    def send(self, url, request):
        host, _, path = url.removeprefix("http://").partition("/")
        connection = http.client.HTTPConnection(host)
        connection.request("POST", f"/{path}", json.dumps(request))
        answer = connection.getresponse()
        parts = bytearray(100_000)
        size = 0
        while part := answer.readinto(memoryview(parts)[size:]):
            size += part
        connection.close()
        return float(size > 0)


class OwnPool(InThread):
    pool = ThreadPoolExecutor(2)

    async def run(self, data, **extra):
        sent = self.pool.submit(Session().send, url_of(extra), request_of(data))
        return await asyncio.wrap_future(sent)


class OwnThread:
    """A thread that the agent starts has no run."""

    async def run(self, data, **extra):
        thread = threading.Thread(target=Session().send, args=(url_of(extra), request_of(data)))
        thread.start()
        while thread.is_alive():
            await asyncio.sleep(0.01)
        return 1.0


class Blocks:
    async def run(self, data, **extra):
        return float(requests.post(url_of(extra), json=request_of(data)).ok)


class Aiohttp:
    async def run(self, data, **extra):
        async with (
            aiohttp.ClientSession() as session,
            session.post(url_of(extra), json=request_of(data)) as answer,
        ):
            return float(len(b"".join([part async for part in answer.content])) > 0)


class AiohttpJson:
    async def run(self, data, **extra):
        async with aiohttp.ClientSession() as session:
            answer = await session.post(url_of(extra), json=request_of(data))
            return float(answer.status == 200 and len((await answer.json())["choices"]) == 1)


class AiohttpRaises:
    async def run(self, data, **extra):
        try:
            async with aiohttp.ClientSession(raise_for_status=True) as session:
                await session.post(url_of(extra), json=request_of(data))
        except aiohttp.ClientError:
            return 0.0
        return 1.0


class AiohttpSmallPool:
    session = None

    async def run(self, data, **extra):
        if self.session is None:
            self.session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=2))
        async with self.session.post(url_of(extra), json=request_of(data)) as answer:
            await answer.read()
        return 1.0
