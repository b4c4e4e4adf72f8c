"""Runs a script of a repository with stub programs, in namespaces without network that see no file of this machine.

The script finds bash and coreutils; each other program is a stub that records its arguments and ends.  What the script
writes goes into a scratch layer over the checkout and is thrown away.  Time, memory and file sizes are limited.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.runs.presets_trial.commands import script_at

FOLDER = Path(__file__).parent
LIMIT_S = 20
TOOLS = frozenset(
    [
        "awk",
        "basename",
        "bash",
        "cat",
        "chmod",
        "cksum",
        "comm",
        "cp",
        "cut",
        "date",
        "dirname",
        "du",
        "echo",
        "env",
        "expr",
        "false",
        "find",
        "getopt",
        "grep",
        "head",
        "id",
        "install",
        "join",
        "ln",
        "ls",
        "mkdir",
        "mktemp",
        "mv",
        "nl",
        "nohup",
        "od",
        "paste",
        "printenv",
        "printf",
        "prlimit",
        "pwd",
        "readlink",
        "realpath",
        "rm",
        "rmdir",
        "sed",
        "seq",
        "setpriv",
        "sh",
        "sha256sum",
        "shuf",
        "sort",
        "split",
        "stat",
        "stdbuf",
        "tail",
        "tee",
        "test",
        "timeout",
        "touch",
        "tr",
        "true",
        "uname",
        "uniq",
        "wc",
        "whoami",
        "xargs",
        "yes",
    ]
)
# Programs that are looked for by name; others are found by bash's handler of unknown commands.
STUBS = frozenset(
    [
        "accelerate",
        "apptainer",
        "conda",
        "curl",
        "deepspeed",
        "docker",
        "git",
        "hostname",
        "huggingface-cli",
        "jq",
        "kubectl",
        "nvidia-smi",
        "nproc",
        "pip",
        "pip3",
        "ps",
        "python",
        "python3",
        "python3.10",
        "python3.11",
        "python3.12",
        "ray",
        "sbatch",
        "scontrol",
        "singularity",
        "sleep",
        "squeue",
        "srun",
        "ssh",
        "sudo",
        "torchrun",
        "uv",
        "wandb",
        "wget",
    ]
)
NODE = {
    "SLURM_JOB_ID": "1",
    "SLURM_JOB_NODELIST": "node1",
    "SLURM_NODELIST": "node1",
    "SLURM_JOB_NUM_NODES": "1",
    "SLURM_NNODES": "1",
    "SLURM_NTASKS": "1",
    "SLURM_NODEID": "0",
    "SLURM_PROCID": "0",
    "SLURM_CPUS_PER_TASK": "8",
    "SLURM_GPUS_ON_NODE": "8",
    "SLURM_JOB_PARTITION": "batch",
    "SLURM_JOB_ACCOUNT": "trial",
    "SLURM_JOB_NAME": "trial",
}
_UNSHARE = (
    "unshare",
    *("--mount", "--net", "--pid", "--ipc", "--uts", "--fork", "--kill-child"),
    *("--propagation", "private"),
)
_LONGEST_OUTPUT = 64 * 1024
# Bash calls it for a command that it does not find.
_HANDLER = '() { STUB_NAME="$1" /usr/bin/stub "${@:2}"; }'


@dataclass(frozen=True)
class Call:
    """A stub program that was started."""

    program: str
    arguments: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]


@dataclass(frozen=True)
class Execution:
    """The programs that a script started, in order, and how it ended; `output` is the end of what it printed."""

    calls: tuple[Call, ...]
    code: int
    timed_out: bool
    output: str


@dataclass(frozen=True)
class Copy:
    """A text that runs in place of the script `original`, an absolute path; `inner` are those that it starts."""

    original: Path
    text: str
    inner: tuple[Copy, ...] = ()


class Sandbox:
    """The tools and stubs, in a folder that `close` removes."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="er-trial-"))
        self._tools = self._folder / "tools"
        self._tools.mkdir()
        for name in TOOLS:
            if found := shutil.which(name):
                shutil.copy(found, self._tools / name)
        shutil.copy(shutil.which("sleep") or "/usr/bin/sleep", self._tools / "pause")
        for name in (*STUBS, "stub"):
            shutil.copy(FOLDER / "stub.sh", self._tools / name)
            (self._tools / name).chmod(0o755)

    def close(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def run(
        self,
        checkout: Path,
        command: Sequence[str],
        env: Mapping[str, str],
        copy: Copy | None = None,
        files: Sequence[str] = (),
    ) -> Execution:
        """Runs `command` in the checkout; a batch script runs as on the first node of its job.

        `files` are made, by their absolute paths; what is called Python is a stub.
        """
        with tempfile.TemporaryDirectory(prefix="run-", dir=self._folder) as folder:
            record = Path(folder)
            shared = record / "shared"
            (shared / "calls").mkdir(parents=True)
            words = list(command)
            given = {**_environment(checkout), **env}
            if words[0] == "sbatch":
                words = ["bash", *words[script_at(words) or 1 :]]
                given = {**NODE, "SLURM_SUBMIT_DIR": str(checkout), **given}
            if copy:
                (shared / copy.original.name).write_text(copy.text)
                given["EAGLERAY_SCRIPT"] = str(copy.original)
                given["EAGLERAY_COPIES"] = "/record"
                for number, inner in enumerate(copy.inner, 1):
                    file = shared / str(number) / inner.original.name
                    file.parent.mkdir()
                    file.write_text(inner.text)
                    file.chmod(0o700)
                    given[f"EAGLERAY_SCRIPT_{number}"] = str(inner.original)
                words = [
                    f"/record/{copy.original.name}" if checkout / word == copy.original else word
                    for word in words
                ]
            return _run(record, self._tools, checkout, words, given, files)


def why_not() -> str:
    """Why scripts can't run in a sandbox on this machine; "" if they can."""
    if not shutil.which("unshare"):
        return "`unshare` is not installed"
    tried = subprocess.run(
        [*_UNSHARE, "mount", "-t", "tmpfs", "probe", "/mnt"],
        capture_output=True,
        text=True,
        check=False,
    )
    return f"namespaces are not available: {tried.stderr.strip()}" if tried.returncode else ""


def _environment(checkout: Path) -> dict[str, str]:
    return {
        "PATH": "/usr/bin",
        "HOME": "/tmp/home",
        "USER": "trial",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "TRIAL_CHECKOUT": str(checkout),
        "BASH_FUNC_command_not_found_handle%%": _HANDLER,
    }


def _run(
    record: Path,
    tools: Path,
    checkout: Path,
    words: Sequence[str],
    env: Mapping[str, str],
    files: Sequence[str],
) -> Execution:
    command = [
        *(*_UNSHARE, "sh", str(FOLDER / "enter.sh")),
        *(str(checkout), str(tools), str(record), " ".join(files)),
        *("-i", *(f"{name}={value}" for name, value in env.items()), *words),
    ]
    output = record / "output"
    try:
        with output.open("wb") as file:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                timeout=LIMIT_S,
                check=False,
            )
    except subprocess.TimeoutExpired:
        return Execution(tuple(_calls(record)), -1, True, _end_of(output))
    return Execution(tuple(_calls(record)), done.returncode, False, _end_of(output))


def _calls(record: Path) -> Iterator[Call]:
    for file in sorted((record / "shared" / "calls").iterdir()):
        fields = file.read_text("utf-8", "replace").split("\0")
        if len(fields) < 4:
            continue
        count = int(fields[2])
        pairs = (pair.partition("=") for pair in fields[3 + count :] if "=" in pair)
        env = {name: value for name, _, value in pairs}
        yield Call(fields[0], tuple(fields[3 : 3 + count]), fields[1], env)


def _end_of(output: Path) -> str:
    with output.open("rb") as file:
        file.seek(max(0, output.stat().st_size - _LONGEST_OUTPUT))
        return file.read().decode("utf-8", "replace")
