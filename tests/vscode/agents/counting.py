"""An agent of the editor's story: it asks the tests' model to count."""

import time

MODEL = "eagleray-tests"


class Counting:
    """Fails for item 2; `Blocking` holds the event loop up."""

    async def run(self, data, **extra_kwargs):
        answer = await ask(extra_kwargs, f"Count to {data['n']}")  # [asks]
        return {answer["id"]: self.reward(data["n"])}

    def reward(self, n):
        if n == 2:
            raise ValueError("two is not rewarded")  # [fails]
        return float(n % 2)


class Blocking(Counting):
    async def run(self, data, **extra_kwargs):
        rewards = await super().run(data, **extra_kwargs)
        time.sleep(0.03)  # [blocks]
        return rewards


async def ask(given, prompt):
    response = await given["http_client"].post(
        f"{given['base_url']}/chat/completions",
        headers={"Authorization": f"Bearer {given['api_key']}"},
        json={"model": MODEL, "messages": [{"role": "user", "content": prompt}], "max_tokens": 8},
    )
    return response.raise_for_status().json()
