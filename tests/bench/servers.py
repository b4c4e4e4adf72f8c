"""How soon after its first real answer an inference server counts as ready: `serve start` against a client that never waits."""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
import time
from pathlib import Path

import aiohttp
from eagleray.app import App, Settings
from eagleray.rollouts.servers.servers import ServerRequest

from tests.bench.rows import Row, at_most
from tests.engine.fixtures import engine_command
from tests.ray_cluster import REPOSITORY, temporary_home
from tests.rollouts.servers.test_servers import free_port

# Until then the server is polled less often.
_LATE_S = 12
_EVERY_S = 0.005


def rows(samples: int) -> list[Row]:
    samples = min(samples, 5)
    with tempfile.TemporaryDirectory() as folder, temporary_home() as home:
        os.environ["EAGLERAY_HOME"] = str(home)
        command = engine_command("--make", folder)
        subprocess.run(command, cwd=REPOSITORY, check=True, stdout=subprocess.DEVNULL)
        model = Path(folder) / "model.gguf"
        soon = [asyncio.run(lateness_s(model, 0)) for _ in range(samples)]
        late = [asyncio.run(lateness_s(model, _LATE_S)) for _ in range(min(samples, 2))]
    return [
        at_most("server known as ready after its first answer (s)", soon, 0.2),
        at_most(f"the same of one that starts in {_LATE_S} s (s)", late, 0.2),
    ]


async def lateness_s(model: Path, delay_s: int) -> float:
    """The time from the first token that another client gets to the return of `serve start`."""
    app = App(Settings.read({"discovery": "off"}, dict(os.environ)))
    port = free_port()
    engine = engine_command("--port", str(port), "--model", str(model))
    argv = ["sh", "-c", f'sleep {delay_s}; exec "$@"', "sh", *engine]
    request = ServerRequest(argv=argv, cwd=str(REPOSITORY), key_variable="LLAMA_API_KEY")
    try:
        prepared = await app.servers.prepare(request)
        answered = asyncio.create_task(_first_token_at(port, prepared.api_key))
        ready = await _until_ready(app, await app.servers.start(prepared))
        return max(0.0, ready - await answered)
    finally:
        for server in await app.servers.list():
            if server.is_live:
                await app.servers.stop(server.run_id)
        await app.close()


async def _until_ready(app: App, run: str) -> float:
    server = await app.servers.until_answers(run)
    assert server.state == "ready", server
    return time.perf_counter()


async def _first_token_at(port: int, key: str) -> float:
    url = f"http://127.0.0.1:{port}/v1/completions"
    body = {"prompt": "Hi", "max_tokens": 1}
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {key}"}) as session:
        while True:
            try:
                async with session.post(url, json=body) as reply:
                    if reply.status == 200:
                        return time.perf_counter()
            except aiohttp.ClientError:
                pass
            await asyncio.sleep(_EVERY_S)
