"""The environment report: differences marked, nothing that identifies machines, no secret."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from eagleray.cli.main import main
from eagleray.doctor.environment_report import DIFFERS, report
from eagleray.doctor.node_checks import NodeFacts

PLANTED = "hf_" + "a" * 34


def node(host: str, **more: Any) -> dict[str, Any]:
    return {
        "host": host,
        "python": "3.11.7",
        "executable": f"{Path.home()}/venv/bin/python",
        "packages": {"ray": "2.60.0", "torch": "2.13.0"},
        "addresses": [{"interface": "eth0", "address": f"10.1.2.{len(host)}"}],
        "nofile": [65535, 65535],
        "memory": 2**36,
        **more,
    }


def test_rows_in_which_nodes_differ_are_marked() -> None:
    other = node("gpu-12", packages={"ray": "2.60.0", "torch": "2.12.0", "vllm": "0.32"})

    lines = report(NodeFacts((node("gpu-1"), other))).splitlines()

    marked = [line for line in lines if line.startswith(f"| {DIFFERS}")]
    assert marked == [
        f"| {DIFFERS} | torch | 2.13.0 (node-1); 2.12.0 (node-2) |",
        f"| {DIFFERS} | vllm | – (node-1); 0.32 (node-2) |",
    ]
    assert "| | ray | 2.60.0 |" in lines


def test_names_addresses_and_secrets_are_left_out() -> None:
    variables = {
        "interfaces": {"NCCL_SOCKET_IFNAME": f"10.1.2.5 token={PLANTED}"},
        "proxies": ["http_proxy"],
        "no_proxy": "10.1.2.5",
    }
    text = report(
        NodeFacts((node("gpu-1", variables=variables),), (("10.9.9.9", "gpu-1: no route"),))
    )

    assert "node-1: no route" in text
    for private in ("gpu-1", "10.1.2.5", "10.9.9.9", PLANTED, str(Path.home())):
        assert private not in text
    assert "| | executable | ~/venv/bin/python |" in text


def test_facts_of_another_kind_make_no_row() -> None:
    text = report(NodeFacts(({"host": 7, "packages": [], "memory": "x", "python": "a|b"},)))

    assert "| | Python | a\\|b |" in text
    assert "memory" not in text


def test_report_of_this_machine_is_markdown(
    own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--report"]) == 0

    printed = capsys.readouterr().out
    assert "| | Python | 3." in printed
    with pytest.raises(json.JSONDecodeError):
        json.loads(printed)


@pytest.mark.parametrize("more", [["--json"], ["--run", "x"], ["a.log"], ["--before"]])
def test_report_takes_no_logs(more: list[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        main(["doctor", "--report", *more])

    assert refused.value.code == 2


def test_system_kernel_and_gpu_models_are_rows() -> None:
    gpus = {"gpu_models": ["NVIDIA H100 80GB HBM3"] * 2, "gpus": ["/dev/nvidia0", "/dev/nvidia1"]}
    text = report(
        NodeFacts((node("gpu-1", system="Debian 12", kernel="Linux 6.1 x86_64", **gpus),))
    )

    assert "| | system | Debian 12 |" in text
    assert "| | kernel | Linux 6.1 x86_64 |" in text
    assert "| | GPU models | 2 x NVIDIA H100 80GB HBM3 |" in text
