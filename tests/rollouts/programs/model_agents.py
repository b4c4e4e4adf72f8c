"""Agents that ask the tests' model, by the official client."""

import asyncio
import json
import time
import urllib.request

import waiting
from openai import AsyncOpenAI, OpenAI

MODEL = "eagleray-tests"
LARGE = {"max_tokens": 900, "logprobs": True, "top_logprobs": 20}


def arguments(extra):
    return {"base_url": extra["base_url"], "api_key": extra["api_key"]}


async def ask(client, data):
    return await client.chat.completions.create(
        model=MODEL, messages=data["messages"], max_tokens=16
    )


class Shared:
    async def run(self, data, **extra_kwargs):
        client = AsyncOpenAI(**arguments(extra_kwargs), http_client=extra_kwargs["http_client"])
        completion = await ask(client, data)
        return {completion.id: 1.0}


class Streams:
    async def run(self, data, **extra_kwargs):
        client = AsyncOpenAI(**arguments(extra_kwargs), http_client=extra_kwargs["http_client"])
        stream = await client.chat.completions.create(
            model=MODEL, messages=data["messages"], max_tokens=16, stream=True
        )
        ids = [chunk.id async for chunk in stream]
        return {ids[0]: 1.0}


class Generates:
    """16 tokens, or 900 with so many logprobs that the response has more than 1 MB."""

    async def run(self, data, **extra_kwargs):
        # In `subproc` there are none, and the environment has the server.
        client = AsyncOpenAI(**extra_kwargs)
        asked = {"model": MODEL, "messages": data["messages"], "max_tokens": 16}
        asked |= {"extra_body": {"ignore_eos": True}, **(LARGE if data["large"] else {})}
        if data["stream"]:
            asked |= {"stream": True, "stream_options": {"include_usage": data["usage"]}}
        answer = await client.chat.completions.create(**asked)
        return float(len([each async for each in answer]) if data["stream"] else 1)


class Misnames(Shared):
    async def run(self, data, **extra_kwargs):
        await super().run(data, **extra_kwargs)
        return {"chatcmpl-of-somebody-else": 1.0}


class ClosesShared:
    async def run(self, data, **extra_kwargs):
        shared = extra_kwargs["http_client"]
        async with AsyncOpenAI(**arguments(extra_kwargs), http_client=shared) as client:
            await ask(client, data)
        return 1.0


class ClientPerRun:
    async def run(self, data, **extra_kwargs):
        async with AsyncOpenAI(**arguments(extra_kwargs)) as client:
            await ask(client, data)
        return 1.0


class Synchronous:
    client = None

    async def run(self, data, **extra_kwargs):
        if self.client is None:
            self.client = OpenAI(**arguments(extra_kwargs))
        self.client.chat.completions.create(model=MODEL, messages=data["messages"], max_tokens=256)
        return 1.0


class Blocks(Shared):
    """Hardly noticed by one run; 512 of them wait for it for 5 s."""

    async def run(self, data, **extra_kwargs):
        await super().run(data, **extra_kwargs)
        time.sleep(0.01)
        return 1.0


class SleepsInHelper(Shared):
    async def run(self, data, **extra_kwargs):
        await super().run(data, **extra_kwargs)
        waiting.wait_for_quota()
        return 1.0


class Urllib(Shared):
    """A tool with a synchronous client, which computes for a part of its time."""

    async def run(self, data, **extra_kwargs):
        await super().run(data, **extra_kwargs)
        address = extra_kwargs["base_url"].removesuffix("/v1") + "/completion"
        headers = {"Authorization": f"Bearer {extra_kwargs['api_key']}"}
        asked = json.dumps({"prompt": "a", "n_predict": 400, "ignore_eos": True}).encode()
        urllib.request.urlopen(urllib.request.Request(address, asked, headers)).close()
        return 1.0


def encode(text):
    """As a tokenizer in Python: no single line of it is slow."""
    ids = []
    total = 0
    for place in range(400_000):
        first = text[place % len(text)]
        second = text[place * 7 % len(text)]
        total += ord(first) * 31
        ids.append(total % 997)
        if first == second:
            total -= 1
    return ids


class Encodes(Shared):
    async def run(self, data, **extra_kwargs):
        await super().run(data, **extra_kwargs)
        encode(data["messages"][0]["content"])
        return 1.0


class SmallPool:
    client = None

    async def run(self, data, **extra_kwargs):
        if self.client is None:
            kind = type(extra_kwargs["http_client"])
            limits = __import__(kind.__module__.partition(".")[0]).Limits(max_connections=1)
            self.client = AsyncOpenAI(**arguments(extra_kwargs), http_client=kind(limits=limits))
        await ask(self.client, data)
        return 1.0


class FromEnvironment:
    async def run(self, data):
        async with AsyncOpenAI() as client:
            completion = await ask(client, data)
        return {completion.id: 1.0}


class Turns:
    """Item n takes n turns; from 5 on it never ends."""

    async def run(self, data, **extra_kwargs):
        # In `subproc` there are none, and the environment has the server.
        passed = {name: extra_kwargs[name] for name in extra_kwargs}
        client = AsyncOpenAI(**passed)
        turns = int(data["messages"][0]["content"].split()[-1])
        while turns:
            await ask(client, data)
            turns -= turns < 5
        return 1.0


class Talks:
    """An answer of 900 tokens by the shared client itself, whose first connection isn't a part of its time."""

    async def run(self, data, **extra_kwargs):
        client, url = extra_kwargs["http_client"], extra_kwargs["base_url"]
        await client.get(url.removesuffix("/v1") + "/health")
        answer = await client.post(
            f"{url}/chat/completions",
            headers={"Authorization": f"Bearer {extra_kwargs['api_key']}"},
            json={"messages": data["messages"], "max_tokens": 900, "ignore_eos": True},
        )
        return float(answer.status_code == 200)


class OneIsLate(Shared):
    """The first run of item 3 calls a tool for long."""

    late = True

    async def run(self, data, **extra_kwargs):
        await super().run(data, **extra_kwargs)
        if self.late and data["messages"][0]["content"] == "Count to 3":
            self.late = False
            await asyncio.sleep(4)
        return 1.0


class AsksLogprobs:
    """Two turns; the second continues the conversation of the first."""

    async def run(self, data, **extra_kwargs):
        client = AsyncOpenAI(**arguments(extra_kwargs), http_client=extra_kwargs["http_client"])
        messages = list(data["messages"])
        for _ in range(2):
            completion = await client.chat.completions.create(
                model=MODEL, messages=messages, max_tokens=16, logprobs=True, top_logprobs=1
            )
            answer = completion.choices[0].message.content
            messages += [
                {"role": "assistant", "content": answer},
                {"role": "user", "content": "Go on"},
            ]
        return float(len(answer) % 2)


class ReadsRaw:
    """Reads a stream by the shared client itself, compressed as it is."""

    decodes = False

    async def run(self, data, **extra_kwargs):
        url = f"{extra_kwargs['base_url']}/chat/completions"
        async with extra_kwargs["http_client"].stream("POST", url, json=data) as response:
            parts = response.aiter_bytes(997) if self.decodes else response.aiter_raw()
            return float(sum([len(part) async for part in parts]))


class ReadsParts(ReadsRaw):
    decodes = True
