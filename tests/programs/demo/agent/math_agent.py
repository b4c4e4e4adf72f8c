"""An agent that adds numbers with the help of a server, and a slower one that blocks the event loop."""

import time

import aiohttp


class MathAgent:
    """One question: its reward is 1 if the answer is right."""

    async def run(self, data, **extra):
        answer = await ask(extra, data["question"])
        return float(answer == data["answer"])


class BlockingAgent(MathAgent):
    """The same with a check that holds up all other runs."""

    async def run(self, data, **extra):
        reward = await super().run(data, **extra)
        time.sleep(0.03)
        return reward


async def ask(extra, question):
    message = {"role": "user", "content": question}
    async with aiohttp.ClientSession() as session:
        response = await session.post(
            f"{extra['base_url']}/chat/completions",
            headers={"Authorization": f"Bearer {extra['api_key']}"},
            json={"model": "demo", "messages": [message], "max_tokens": 8},
        )
        completion = await response.json()
    return completion["choices"][0]["message"]["content"]
