"""Builds and optimises a graph of the model before the first step, which takes minutes."""

import ast
import time

import torch
import torch.distributed as dist
from rendezvous import RANK, join, say

SOURCE = "\n".join(
    f"x{i} = (x{i - 1} * {i}.0 + x{max(0, i - 7)}) if x0 > {i} else x{i - 1}" for i in range(1, 400)
)


class ConstantFolder(ast.NodeTransformer):
    def visit_BinOp(self, node):
        self.generic_visit(node)
        return node

    def visit_IfExp(self, node):
        self.generic_visit(node)
        return node


class GraphCompiler:
    def trace(self):
        return ast.parse(SOURCE)

    def optimise(self, graph):
        for _ in range(10 + RANK):
            graph = ConstantFolder().visit(graph)
        return graph

    def lower(self, graph):
        return [compile(ast.unparse(node), "<kernel>", "exec") for node in graph.body]

    def tune(self, kernels, until):
        best = float("inf")
        while time.monotonic() < until:
            started = time.perf_counter()
            self.lower(self.optimise(self.trace()))
            best = min(best, time.perf_counter() - started)
        return best


def main():
    join()
    compiler = GraphCompiler()
    graph = compiler.optimise(compiler.trace())
    say("autotuning")
    compiler.tune(compiler.lower(graph), time.monotonic() + 120)
    while True:
        dist.all_reduce(torch.ones(1))


if __name__ == "__main__":
    main()
