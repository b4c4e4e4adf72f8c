"""Prints what another rank's failure causes, then the failure itself, and keeps running."""

import sys
import threading

for line in (
    "[rank1]: RuntimeError: [../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] "
    "Timed out waiting 1800000ms for recv operation to complete",
    "[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB",
    "[rank2]: OSError: [Errno 24] Too many open files: 'shard-2'",
):
    print(line, file=sys.stderr, flush=True)
threading.Event().wait()
