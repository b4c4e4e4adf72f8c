"""The classes that match patterns, by the actors of a cluster and by earlier runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from eagleray.profile.recordings.class_matches import match_classes
from eagleray.profile.recordings.model import RunProfile
from eagleray.profile.recordings.scanner import Scanner, parse_classes
from eagleray.profile.recordings.sources import LocalFolder
from eagleray.ray.errors import dashboard_failed
from eagleray.ray.rows import ActorRow, RuntimeEnv
from eagleray.remote.injected.profile_settings import ProfileSettings
from eagleray.remote.injected.worker_patterns import matchable_names
from eagleray.runs.model import ProfileState

from tests.profile.recordings.test_profiling import FakeGateway, FakeProfiles, profiling


def actor(class_name: str, name: str = "", state: str = "ALIVE") -> ActorRow:
    return ActorRow("a", class_name, name, "", state, "01", "n", 7, 0, "", RuntimeEnv())


def fitting(
    actors: list[ActorRow], patterns: list[str], earlier: list[str]
) -> list[tuple[str, int, str]]:
    return [
        (class_.name, class_.running, class_.matched_by)
        for class_ in match_classes(actors, patterns, earlier)
    ]


@pytest.mark.parametrize(
    ("earlier", "pattern", "expected"),
    [
        # Ray alone knows no module.
        ([], "pkg.*", [("Learner", 2, "")]),
        ([], "Learn*", [("Learner", 2, "Learn*")]),
        (["pkg.mod:Learner"], "pkg.*", [("pkg.mod.Learner", 2, "pkg.*")]),
        (["pkg.mod:Learner"], "pkg.mod.Learner", [("pkg.mod.Learner", 2, "pkg.mod.Learner")]),
        # A worker that fits by its class is named by the class.
        (["pkg.mod:Learner"], "*Learner", [("Learner", 2, "*Learner")]),
        (["pkg.mod:Learner"], "other.*", [("Learner", 2, "")]),
        # It may belong to either of two modules.
        (["a:Learner", "b:Learner"], "a.*", [("a.Learner", 0, "a.*"), ("Learner", 2, "")]),
        # One that was seen before, and does not live.
        (["pkg.mod:Old"], "pkg.*", [("pkg.mod.Old", 0, "pkg.*"), ("Learner", 2, "")]),
        (["pkg.mod:Old"], "x", [("Learner", 2, ""), ("Old", 0, "")]),
        (["m:Outer.Inner"], "m.Inner", [("m.Outer.Inner", 0, "m.Inner"), ("Learner", 2, "")]),
    ],
)
def test_module_of_an_earlier_run_is_matched(
    earlier: list[str], pattern: str, expected: list[tuple[str, int, str]]
) -> None:
    assert fitting([actor("Learner"), actor("Learner")], [pattern], earlier) == expected


def test_suffix_of_an_actor_name_does_not_match() -> None:
    """As in the worker: a run would not mean it."""
    assert fitting([actor("L", "judge.policy")], ["policy"], []) == [("L", 1, "")]
    assert fitting([actor("L", "judge.policy")], ["judge*"], []) == [("judge.policy", 1, "judge*")]


@pytest.mark.parametrize(
    ("patterns", "module", "class_name", "name", "expected"),
    [
        (["*Policy*"], "m", "PolicyWorker", "p-0", "*Policy*"),
        ([" x , *Policy*"], "m", "PolicyWorker", "", "*Policy*"),
        (["", " , "], "m", "PolicyWorker", "", ""),
        (["POLICY*"], "m", "PolicyWorker", "", ""),
        (["policy_worker"], "m", "PolicyWorker", "", "policy_worker"),
        (
            ["dtensor_policy_worker_v2"],
            "m",
            "DTensorPolicyWorkerV2",
            "",
            "dtensor_policy_worker_v2",
        ),
        (
            ["sglang_generation_worker"],
            "m",
            "SGLangGenerationWorker",
            "",
            "sglang_generation_worker",
        ),
        # The first pattern counts, whichever name it fits.
        (["p-*", "*Policy*"], "m", "PolicyWorker", "p-0", "p-*"),
        (["m.*,Policy*"], "m", "PolicyWorker", "", "m.*"),
        (["Inner"], "m", "Outer.Inner", "", "Inner"),
        (["m.Inner"], "m", "Outer.Inner", "", "m.Inner"),
        (["Outer.*"], "m", "Outer.Inner", "", "Outer.*"),
        (["p-[!0]", "?.Policy"], "m", "Policy", "p-0", "?.Policy"),
    ],
)
def test_preview_matches_the_same_workers_as_the_run(
    patterns: list[str], module: str, class_name: str, name: str, expected: str
) -> None:
    meant = ProfileSettings({"workers": patterns}).pattern(
        matchable_names(module, class_name, name)
    )
    (states,) = {
        class_.matched_by
        for class_ in match_classes([actor(class_name, name)], patterns, [f"{module}:{class_name}"])
        if class_.running
    }
    assert (meant, states) == (expected, expected)


def test_class_of_unknown_module_is_not_matched_by_module() -> None:
    assert fitting([actor("Learner")], [".Learner"], []) == [("Learner", 1, "")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b'{"classes": ["m:A", "n:B", "m:A"]}', ("m:A", "n:B")),
        (b'{"classes": ["no module", ":A", "m:", 3, null, "m\\u001b[1m:A"]}', ("m [1m:A",)),
        (b'{"classes": {"m:A": 1}}', ()),
        (b'["m:A"]', ()),
        (b"[" * 100_000, ()),
        (b"", ()),
    ],
)
def test_class_lists_of_nodes_are_parsed_without_trust(
    text: bytes, expected: tuple[str, ...]
) -> None:
    assert parse_classes(text) == expected


async def test_class_list_is_read_once(tmp_path: Path) -> None:
    reads: list[str] = []

    class Counted(LocalFolder):
        async def small(self, name: str) -> bytes:
            reads.append(name)
            return await super().small(name)

    scanner, source = Scanner(), Counted(tmp_path)
    (tmp_path / "n.7.1.classes.json").write_text('{"classes": ["m:A"]}')
    for _ in range(2):
        assert (await scanner.scan([source])).classes == ("m:A",)
    (tmp_path / "n.7.1.classes.json").rename(tmp_path / "n.7.2.classes.json")
    (tmp_path / "n.7.2.classes.json").write_text('{"classes": ["m:A", "m:B"]}')
    assert (await scanner.scan([source])).classes == ("m:A", "m:B")
    assert reads == ["n.7.1.classes.json", "n.7.2.classes.json"]


async def test_missing_class_list_does_not_hide_the_others(tmp_path: Path) -> None:
    class Replacing(LocalFolder):
        async def small(self, name: str) -> bytes:
            if name == "n.7.1.classes.json":
                raise dashboard_failed("node-1", 500)
            return await super().small(name)

    for number in (1, 2):
        (tmp_path / f"n.7.{number}.classes.json").write_text('{"classes": ["m:A"]}')
    scan = await Scanner().scan([Replacing(tmp_path)])
    assert (scan.classes, scan.failures) == (("m:A",), ())


class Cluster:
    async def all_actors(self) -> list[ActorRow]:
        return [actor("Learner")]


async def test_preview_includes_recent_runs_with_and_without_a_cluster() -> None:
    class Several(FakeProfiles):
        def listed(self) -> list[RunProfile]:
            lists = [("m:Learner",), (), ("n:Old",)] + [()] * 10 + [("n:Older",)]
            states = [ProfileState("/o", classes=list_) for list_ in lists]
            return [RunProfile("r", Path(), Path(), "", True, False, match) for match in states]

    async def dashboard(cluster: str) -> Any:
        assert cluster == "here:8265"
        return Cluster()

    made = profiling(Several(None), FakeGateway(0), dashboard)
    with_cluster = await made.preview("here:8265", ["m.*"])
    assert [(match.name, match.running) for match in with_cluster] == [("m.Learner", 1), ("Old", 0)]
    without = await made.preview("", ["n.*"])
    assert [(match.name, match.matched_by) for match in without] == [
        ("n.Old", "n.*"),
        ("Learner", ""),
    ]
