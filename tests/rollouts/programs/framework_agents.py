"""An agent of openai-agents, a framework that isn't ours, with a call that blocks the loop."""

import time

from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, RunConfig, Runner
from openai import AsyncOpenAI


class Framework:
    async def run(self, data, **extra_kwargs):
        client = AsyncOpenAI(
            base_url=extra_kwargs["base_url"],
            api_key=extra_kwargs["api_key"],
            http_client=extra_kwargs["http_client"],
        )
        agent = Agent(
            name="Counter",
            instructions="Count.",
            model=OpenAIChatCompletionsModel("eagleray-tests", client),
            model_settings=ModelSettings(max_tokens=16),
        )
        question = data["messages"][-1]["content"]
        result = await Runner.run(agent, question, run_config=RunConfig(tracing_disabled=True))
        return float(bool(result.final_output))


class Blocks(Framework):
    async def run(self, data, **extra_kwargs):
        reward = await super().run(data, **extra_kwargs)
        time.sleep(0.05)
        return reward
