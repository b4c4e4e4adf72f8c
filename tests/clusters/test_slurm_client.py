"""Asking SLURM: which commands are run, and what becomes of odd answers."""

from __future__ import annotations

import sys

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.protocol.adapter_control import CommandOutput
from eagleray.slurm.client import SlurmClient
from eagleray.tools.commands import Commands

from tests.clusters.fake_site import FakeJob, FakeSite, ray


@pytest.fixture
def site() -> FakeSite:
    return FakeSite()


@pytest.fixture
def slurm(site: FakeSite) -> SlurmClient:
    return SlurmClient(Commands(site.run, {}))


async def failure(asking: object) -> EaglerayError:
    with pytest.raises(EaglerayError) as failed:
        await asking
    return failed.value


async def test_profile_of_the_user_does_not_change_the_format(
    site: FakeSite, slurm: SlurmClient
) -> None:
    site.jobs = [FakeJob()]
    (job,) = await slurm.jobs("login")
    assert (job.id, job.name) == ("12", "ray-cluster")
    (host, argv), (_, then) = site.asked
    assert host == "login"
    assert then[: then.index("-h")] == argv[: argv.index("-o")]
    assert argv[0] == "env"
    assert argv[argv.index("SQUEUE_PARTITION") - 1] == "-u"
    assert argv[argv.index("squeue") + 1 :][:4] == ["--me", "-r", "-t", "all"]


async def test_exclusive_jobs_are_checked_once(site: FakeSite, slurm: SlurmClient) -> None:
    """A second `squeue` each time would be twice the load."""
    site.jobs = [FakeJob("12"), FakeJob("13", exclusive="NO")]
    before = await slurm.jobs("login")
    assert [job.exclusive for job in before] == [True, False]
    site.asked.clear()
    assert await slurm.jobs("login", before) == before
    assert len(site.asked) == 1
    # Requeued, it may run on other nodes.
    site.change(started="1700009999")
    await slurm.jobs("login", before)
    assert len(site.asked) == 3


@pytest.mark.parametrize("job", ["", "1;id", "-w", "x", "$(id)"])
async def test_invalid_id_reaches_no_command(site: FakeSite, slurm: SlurmClient, job: str) -> None:
    assert (await failure(slurm.find_dashboards("login", job, ["n"]))).code == "bad-route"
    assert site.asked == []


@pytest.mark.parametrize("says", ["NO", "USER", "TOPO"])
async def test_newer_slurm_lists_exclusive_jobs_in_another_field(
    site: FakeSite, slurm: SlurmClient, says: str
) -> None:
    """Its older field says NO of all of them, and would have a stranger's Ray taken for one's own."""
    site.jobs = [FakeJob("12", exclusive=says), FakeJob("13", exclusive="NODE"), FakeJob("14")]
    assert [job.exclusive for job in await slurm.jobs("login")] == [False, True, True]
    site.answers = {"-O": CommandOutput(1, "", "error")}
    assert not any(job.exclusive for job in await slurm.jobs("login"))


async def test_squeue_in_another_format_is_reported(site: FakeSite, slurm: SlurmClient) -> None:
    site.answers = {"squeue": CommandOutput(0, "JOBID NAME\n 1 x\n", "")}
    assert (await failure(slurm.jobs("login"))).code == "slurm-failed"


async def test_squeue_message_is_a_detail_of_the_error(site: FakeSite, slurm: SlurmClient) -> None:
    site.answers = {
        "squeue": CommandOutput(1, "", "slurm_load_jobs error: Unable to contact slurm controller")
    }
    error = await failure(slurm.jobs("login"))
    assert "contact slurm controller" in error.output
    assert error.message == "Can't reach SLURM: `squeue` failed."


async def test_login_shell_finds_commands_that_a_plain_shell_lacks(site: FakeSite) -> None:
    asked: list[list[str]] = []

    async def run(
        ssh: str, argv: list[str], stdin: str = "", limit_s: float = 30.0
    ) -> CommandOutput:
        asked.append(argv)
        if argv[0] != "bash":
            return CommandOutput(127, "", "squeue: No such file or directory")
        return await site.run(ssh, argv, stdin, limit_s)

    site.jobs = [FakeJob(share="OK")]
    slurm = SlurmClient(Commands(run, {}))
    assert len(await slurm.jobs("login")) == 1
    assert len(await slurm.jobs("login")) == 1
    assert [argv[0] for argv in asked] == ["env", "bash", "bash"]
    # Text from elsewhere stays an argument: only our own words are read by the shell.
    assert asked[1][:4] == ["bash", "-lc", 'exec "$@"', "bash"]


async def test_host_without_slurm_is_reported(site: FakeSite, slurm: SlurmClient) -> None:
    site.answers = {"squeue": CommandOutput(127, "", "env: squeue: No such file or directory")}
    assert (await failure(slurm.jobs("login"))).code == "no-slurm"


async def test_scontrol_expands_what_we_cannot(site: FakeSite, slurm: SlurmClient) -> None:
    assert await slurm.nodes("login", "node-[9-10]") == ["node-9", "node-10"]
    assert site.asked == []
    site.answers = {"scontrol": CommandOutput(0, "a1\na2\n", "")}
    assert await slurm.nodes("login", "a[1-2:odd]") == ["a1", "a2"]
    site.answers = {"scontrol": CommandOutput(0, "$(id)\n", "")}
    assert (await failure(slurm.nodes("login", "a[1-2:odd]"))).code == "slurm-failed"
    assert await slurm.nodes("login", "--help[") == []


async def test_nodes_are_queried_at_once(site: FakeSite, slurm: SlurmClient) -> None:
    site.nodes = {"node-10": ray("node-10", "node-9")}
    first, second = await slurm.ask_nodes("login", ["node-9", "node-10"])
    assert (first.node, first.answer, first.addresses) == ("node-9", "refused", ("10.77.0.9",))
    assert (second.answer, second.session, second.ips) == (
        "ray",
        "session_1",
        ("10.77.0.10", "10.77.0.9"),
    )
    assert len(site.asked) == 1


async def test_step_searches_all_nodes(site: FakeSite, slurm: SlurmClient) -> None:
    odd = [{"port": "x"}, {"port": 0}, 3, None]
    dashboard = {"address": "127.0.0.1", "port": 8300, "session": "s", "started": 7}
    site.inside = {"node-10": [dashboard], "node-9": odd}
    (found,) = await slurm.find_dashboards("login", "12", ["node-9", "node-10"])
    assert (found.node, found.address, found.port) == ("node-10", "127.0.0.1", 8300)
    ((_, argv),) = site.asked
    assert argv[:2] == ["timeout", "25"]
    assert {"--overlap", "--jobid=12", "--nodelist=node-9,node-10", "--ntasks=2"} <= set(argv)


async def test_node_without_python_is_reported(site: FakeSite, slurm: SlurmClient) -> None:
    site.answers = {
        "srun": CommandOutput(2, "", "error: execve(): python3: No such file or directory")
    }
    error = await failure(slurm.find_dashboards("login", "12", ["node-9"]))
    assert error.code == "job-not-looked-into"
    assert "python3: No such file" in error.output


async def test_command_runs_on_this_machine_within_limits() -> None:
    async def no_ssh(
        ssh: str, argv: list[str], stdin: str = "", limit_s: float = 30.0
    ) -> CommandOutput:
        raise AssertionError

    commands = Commands(no_ssh, {"PATH": "/usr/bin:/bin", "X": "1"})
    ran = await commands.run("", ["sh", "-c", 'read line; echo "$line $X"; exit 3'], "hello\n")
    assert (ran.code, ran.stdout) == (3, "hello 1\n")
    assert (await commands.run("", ["no-such-command-of-ours"])).code == 127
    # More than it may say, and it says it without reading.
    loud = [sys.executable, "-c", "print('x' * 9 * 2**20)"]
    assert len((await commands.run("", loud, "y" * 2**20)).stdout) == 8 * 2**20
    error = await failure(commands.run("", ["sh", "-c", "sleep 1000 & wait"], limit_s=0.2))
    assert error.code == "command-slow"
