"""Names of hosts from an ssh config."""

from __future__ import annotations

from pathlib import Path

import pytest
from eagleray.tools.ssh_config import ConfiguredHost, configured_hosts


def hosts(folder: Path, text: str, **others: str) -> list[ConfiguredHost]:
    for name, content in others.items():
        (folder / name).write_text(content)
    (folder / "config").write_text(text)
    return configured_hosts(folder / "config")


def test_hosts_are_listed_with_their_destination(tmp_path: Path) -> None:
    found = hosts(
        tmp_path,
        """
# Host commented
Host login  log*n !other
    HostName 10.0.0.1
    User=alice
host "quoted name" node-1 node-2
    user bob # a remark
Match host x
    User eve
Host *
    ControlMaster auto
Host login
    User late
Host plain
""",
    )
    assert found == [
        ConfiguredHost("login", "alice@10.0.0.1"),
        ConfiguredHost("node-1", "bob@node-1"),
        ConfiguredHost("node-2", "bob@node-2"),
        ConfiguredHost("plain", ""),
    ]


def test_included_files_are_read_in_order(tmp_path: Path) -> None:
    found = hosts(
        tmp_path, "Include more*\nHost last\n", more1="Host one\nInclude config\n", more2="Host two"
    )
    assert [host.name for host in found] == ["one", "two", "last"]


@pytest.mark.parametrize("written", ["~nobody-here/config", "/", ".", "**", "/dev/null", '"a b"'])
def test_what_cannot_be_included_hides_nothing(tmp_path: Path, written: str) -> None:
    found = hosts(tmp_path, f"Host one\nInclude {written}\nHost two\n")
    assert [host.name for host in found] == ["one", "two"]


@pytest.mark.parametrize(
    "text", ["", "Host", 'Host "unclosed', "Host -oProxyCommand=id $(id) a;b *", "\x00"]
)
def test_odd_file_lists_no_hosts(tmp_path: Path, text: str) -> None:
    assert hosts(tmp_path, text) == []


def test_missing_file_lists_no_hosts(tmp_path: Path) -> None:
    assert configured_hosts(tmp_path / "none") == []
