"""Agents that send their requests by httpx, as many small public ones do."""

import importlib


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
