"""Three threads reach breakpoint() at once, as the calls of a threaded actor do."""

import threading

ready = threading.Barrier(3)


def rollout(number):
    ready.wait()
    reward = number * 10
    breakpoint()
    print("rollout", number, "reward", reward, flush=True)


threads = [threading.Thread(target=rollout, args=(n,), name=f"rollout_{n}") for n in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("done", flush=True)
