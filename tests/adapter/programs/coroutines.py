"""Two coroutines on one event loop, both with a breakpoint()."""

import asyncio


async def generate(number):
    prompt = f"prompt {number}"
    breakpoint()
    await asyncio.sleep(0)
    return prompt.upper()


async def main():
    print(await asyncio.gather(generate(0), generate(1)), flush=True)


asyncio.run(main())
print("done", flush=True)
