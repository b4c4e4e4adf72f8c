"""A large recording with known answers: training steps on some GPUs, each with a gap and an all-reduce."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from tests.profile.reports.databases import Copy, Kernel, Range, Recording

# A step: kernels of a unit each, an all-reduce of a hundred, as long a pause.
UNIT = 1_000
REDUCE = 100
HOLE = 100
NAMES = [f"void gemm_{size}<float>(float const*, float*)" for size in range(40)]
REDUCTION = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


@frozen
class Steps:
    """`count` steps on each of `gpus` GPUs, with `kernels` kernels in each step."""

    count: int
    kernels: int
    gpus: int = 1

    @property
    def step_ns(self) -> int:
        """How long a step takes."""
        return self.compute_ns + 2 * REDUCE * UNIT

    @property
    def compute_ns(self) -> int:
        return (self.kernels - 1) * UNIT

    @property
    def holes_ns(self) -> int:
        """How long nothing runs within the compute of a step."""
        return (self.kernels - 1) // 4 * HOLE

    def recording(self) -> Recording:
        return Recording(
            kernels=self._kernels(),
            copies=[
                Copy(s * self.step_ns, s * self.step_ns + 500, 4096) for s in range(self.count)
            ],
            ranges=self._ranges(),
            gpus=dict.fromkeys(range(self.gpus), "NVIDIA H100"),
            end=self.count * self.step_ns,
        )

    def _kernels(self) -> Iterator[Kernel]:
        for step in range(self.count):
            begin = step * self.step_ns
            for number in range(self.kernels - 1):
                start = begin + number * UNIT
                for gpu in range(self.gpus):
                    # Every fourth kernel leaves a hole of a tenth behind it.
                    end = start + (UNIT - HOLE if number % 4 == 3 else UNIT)
                    yield Kernel(start, end, NAMES[number % len(NAMES)], gpu)
            start = begin + self.compute_ns
            for gpu in range(self.gpus):
                yield Kernel(start, start + REDUCE * UNIT, REDUCTION, gpu)

    def _ranges(self) -> Iterator[Range]:
        for step in range(self.count):
            begin, end = step * self.step_ns, (step + 1) * self.step_ns
            yield Range(begin, end, f"step {step}")
            yield Range(begin, begin + self.compute_ns, "forward", registered=True)
            yield Range(end - 2 * REDUCE * UNIT, end, "all_reduce", registered=True)
