"""The agents in the text of a file: which classes are found, and at which lines."""

from __future__ import annotations

import pytest
from eagleray.rollouts.agents.agent_classes import agent_classes

# The text, and the name, line and kind of each class.
CASES: list[tuple[str, list[tuple[str, int, str]]]] = [
    ("class A:\n    async def run(self, data, **extra_kwargs): ...", [("A", 1, "agent")]),
    ("class A:\n    async def run(self, item, **kwargs): ...", [("A", 1, "agent")]),
    ("class A:\n    async def run(self, data, *, base_url, api_key): ...", [("A", 1, "agent")]),
    ("class A:\n    async def run(self, data, http_client=None): ...", [("A", 1, "agent")]),
    ("@slots\n@frozen\nclass A:\n    async def run(self, data, **k): ...", [("A", 1, "agent")]),
    (
        "class A:\n    class B:\n        async def run(self, data, **k): ...",
        [("A.B", 2, "agent")],
    ),
    (
        "if x:\n    class A:\n        async def run(self, d, **k): ...\n"
        "else:\n    class B:\n        async def run(self, d, **k): ...",
        [("A", 2, "agent"), ("B", 5, "agent")],
    ),
    (
        "class W(RolloutWorkflow):\n    n = 1\n\n    async def arun_episode(self, engine, data): ...",
        [("W", 4, "workflow")],
    ),
    # Agents that no framework would run.
    ("class A:\n    def run(self, data, **k): ...", []),
    ("class A:\n    async def run(self): ...", []),
    ("class A:\n    async def run(self, data): ...", []),
    ("class A:\n    async def run(self, **k): ...", []),
    ("class A:\n    async def walk(self, data, **k): ...", []),
    ("async def run(self, data, **k): ...", []),
    ("def f():\n    class A:\n        async def run(self, data, **k): ...", []),
    ("", []),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_classes_that_a_framework_would_run_have_their_lines(
    text: str, expected: list[tuple[str, int, str]]
) -> None:
    classes = agent_classes(text)
    assert classes is not None
    assert [(found.name, found.line, found.kind) for found in classes] == expected


@pytest.mark.parametrize("text", ["class A(", "class A:\n  x = (\n", "\0", "(" * 10_000])
def test_invalid_python_has_no_answer(text: str) -> None:
    assert agent_classes(text) is None


def test_class_with_both_methods_is_an_agent() -> None:
    text = (
        "class A:\n"
        "    async def arun_episode(self, engine, data): ...\n"
        "    async def run(self, data, **k): ...\n"
    )
    classes = agent_classes(text)
    assert classes is not None
    assert [found.kind for found in classes] == ["agent"]
