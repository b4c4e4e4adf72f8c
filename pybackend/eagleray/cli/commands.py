"""The tables of the command line: groups, nouns with their verbs, commands, and the short names that mean them."""

from __future__ import annotations

from attrs import frozen


@frozen
class Command:
    """A command and the module that implements it, which is imported only for this command.

    The module has `<arguments>(parser)`, the coroutine `<function>(app, arguments)` that returns the exit code, and
    optionally `check(arguments)`, which returns what is wrong with them.  A command without `needs_app` is a plain
    function of its arguments alone.  `takes_program`: the user's command follows `--`.
    """

    module: str
    help: str
    function: str = "run"
    arguments: str = "add_arguments"
    examples: tuple[tuple[str, str], ...] = ()
    takes_program: bool = False
    needs_app: bool = True


@frozen
class Noun:
    """A noun with verbs; `default` is the verb of a command that names none."""

    help: str
    verbs: dict[str, Command]
    default: str = "ls"


Entry = Command | Noun
Path = tuple[str, ...]

WORKERS = Noun(
    "List workers, attach to them and read their logs",
    {
        "ls": Command(
            "workers",
            "List workers and their states",
            examples=(
                ("workers ls", "every worker of your clusters"),
                ("workers ls --paused", "only workers that wait for you"),
                (
                    "workers ls --paused -o name | xargs eagleray workers continue",
                    "resume them all",
                ),
            ),
        ),
        "attach": Command(
            "attach",
            "Attach to a paused worker for a DAP client",
            examples=(
                ("workers attach policy-0", "prints the Unix socket of its debugger"),
                ("workers attach 15e98c0f --json", "socket and stop location as JSON"),
            ),
        ),
        "continue": Command(
            "resume",
            "Resume workers until their next breakpoint",
            "continue_",
            examples=(
                ("workers continue policy-0 policy-1", "two workers"),
                ("workers continue --all", "every paused worker"),
            ),
        ),
        "detach": Command(
            "resume",
            "Resume held workers and detach",
            "release",
            examples=(("workers detach --all", "give up every held worker"),),
        ),
        "logs": Command(
            "logs",
            "Print the log of a worker",
            examples=(
                ("workers logs policy-0 --follow", "its output, as it is written"),
                ("workers logs policy-0 --err --lines 50", "the last 50 lines of stderr"),
            ),
        ),
    },
)
RUNS = Noun(
    "List runs, print their output, stop or rerun them",
    {
        "ls": Command(
            "runs",
            "List your last runs",
            arguments="add_list_arguments",
            function="list_runs",
            examples=(("runs ls", ""), ("runs ls -o wide", "with exit reason, cluster and folder")),
        ),
        "output": Command(
            "runs",
            "Print the output of a run, and follow it while it runs",
            arguments="add_id_argument",
            function="output",
            examples=(("runs output 3f2a", "any unambiguous beginning of the ID"),),
        ),
        "stop": Command(
            "runs",
            "Stop a run",
            arguments="add_start_arguments",
            function="stop",
            examples=(("runs stop 3f2a", ""),),
        ),
        "rerun": Command(
            "runs",
            "Start the same command again",
            arguments="add_start_arguments",
            function="rerun",
            examples=(("runs rerun 3f2a", ""),),
        ),
        "rm": Command(
            "runs",
            "Remove ended runs from the list",
            arguments="add_ids_argument",
            function="remove",
            examples=(("runs rm 3f2a 91bc", ""),),
        ),
        "clear": Command(
            "runs",
            "Remove all ended runs from the list",
            arguments="add_nothing",
            function="clear",
            examples=(("runs clear", ""),),
        ),
    },
)
PROFILE = Noun(
    "Record workers with Nsight Systems",
    {
        "start": Command(
            "profile",
            "Start a program and record its workers",
            takes_program=True,
            examples=(
                ("profile start --workers '*Policy*' --seconds 10 -- python train.py", ""),
                ("profile start --workers '*' --on-demand -- python train.py", "record later"),
            ),
        ),
        "record": Command(
            "profile",
            "Start a recording in the workers of a run",
            arguments="add_record_arguments",
            function="record",
            examples=(("profile record 3f2a --seconds 10", "ends after 10 s"),),
        ),
        "stop": Command(
            "profile",
            "End the recordings of a run",
            arguments="add_run_argument",
            function="stop",
            examples=(("profile stop 3f2a", ""),),
        ),
        "download": Command(
            "profile",
            "Download the missing reports of a run",
            arguments="add_run_argument",
            function="download",
            examples=(("profile download 3f2a", ""),),
        ),
    },
    default="start",
)
PRESETS = Noun(
    "List, show and remove presets of short test runs",
    {
        "ls": Command(
            "presets",
            "List the presets that apply in this folder",
            arguments="add_list_arguments",
            function="list_presets",
            examples=(("presets ls", ""),),
        ),
        "show": Command(
            "presets",
            "Print a preset as JSON",
            arguments="add_name_argument",
            function="show",
            examples=(("presets show verl", ""),),
        ),
        "rm": Command(
            "presets",
            "Remove one of your presets",
            arguments="add_name_argument",
            function="remove",
            examples=(("presets rm nightly", ""),),
        ),
    },
)
CLUSTERS = Noun(
    "List, add and remove Ray clusters",
    {
        "ls": Command(
            "clusters",
            "List clusters and their states",
            examples=(
                ("clusters ls", ""),
                ("clusters ls --cluster head:8265", "one cluster, and why it doesn't answer"),
            ),
        ),
        "add": Command(
            "clusters",
            "Add a cluster to your list",
            arguments="add_address_argument",
            function="add",
            examples=(
                ("clusters add head:8265", "a dashboard"),
                ("clusters add ssh://login/8265", "a dashboard behind ssh"),
                ("clusters add ssh://login/slurm://12345", "Ray in a SLURM job"),
            ),
        ),
        "rm": Command(
            "clusters",
            "Remove clusters from your list",
            arguments="add_addresses_argument",
            function="remove",
            examples=(("clusters rm head:8265", ""),),
        ),
    },
)
SLURM = Noun(
    "List your SLURM jobs with Ray",
    {
        "ls": Command(
            "slurm",
            "List your SLURM jobs with Ray",
            examples=(("slurm ls --host login", "the jobs of a login node"),),
        )
    },
)

GROUPS: dict[str, dict[str, Entry]] = {
    "Debug": {
        "run": Command(
            "run",
            "Start a program whose workers pause at breakpoints",
            takes_program=True,
            examples=(
                ("run --break policy.py:23 -- python train.py", "pause workers at a line"),
                ("run --post-mortem -- python train.py", "pause on uncaught exceptions"),
                ("run --cluster head:8265 --break policy.py:23 -- python train.py", "as a job"),
                ("run --preset debug --dry-run -- bash run_grpo.sh", "preview a short test run"),
            ),
        ),
        "workers": WORKERS,
        "runs": RUNS,
        "presets": PRESETS,
        "pdb": Command(
            "pdb",
            "List workers in Ray's own pdb, or open one",
            examples=(("pdb", "workers that wait (RAY_DEBUG=legacy)"), ("pdb 6f1c", "open one")),
        ),
    },
    "Profile": {
        "profile": PROFILE,
        "report": Command(
            "report",
            "Print the tables of an Nsight Systems report",
            examples=(
                ("report Policy.nsys-rep", ""),
                ("report Policy.nsys-rep --csv kernels --sort total --top 20", "as CSV"),
            ),
        ),
    },
    "Clusters": {
        "clusters": CLUSTERS,
        "slurm": SLURM,
        "tunnel": Command(
            "tunnel",
            "Open a local port into a cluster",
            examples=(
                ("tunnel ssh://login/8265", "the dashboard, until Ctrl-C"),
                ("tunnel ssh://login/8265 node-3:6006", "another port of the cluster"),
            ),
        ),
    },
    "Other": {
        "completion": Command(
            "completion",
            "Print the completion script of a shell",
            needs_app=False,
            examples=(
                ("completion bash > ~/.local/share/bash-completion/completions/eagleray", "bash"),
                ('completion zsh > "${fpath[1]}/_eagleray"', "zsh"),
                ("completion fish > ~/.config/fish/completions/eagleray.fish", "fish"),
            ),
        ),
        "schema": Command(
            "schema",
            "Print the JSON schema of a command's --json",
            needs_app=False,
            examples=(("schema paused", ""), ("schema", "the names of all schemas")),
        ),
    },
}
COMMANDS: dict[str, Entry] = {
    name: entry for entries in GROUPS.values() for name, entry in entries.items()
}

# Short names of commands, and what they stand for.
SHORTCUTS: dict[str, Path] = {
    "paused": ("workers", "ls", "--paused"),
    "attach": ("workers", "attach"),
    "continue": ("workers", "continue"),
    "detach": ("workers", "detach"),
    "release": ("workers", "detach"),
    "logs": ("workers", "logs"),
}
# Other names of verbs.
VERB_ALIASES: dict[str, dict[str, str]] = {
    "workers": {"list": "ls", "release": "detach"},
    "runs": {
        "list": "ls",
        "follow": "output",
        "logs": "output",
        "restart": "rerun",
        "forget": "rm",
        "remove": "rm",
    },
    "profile": {"gather": "download"},
    "presets": {"list": "ls", "delete": "rm", "remove": "rm"},
    "clusters": {"list": "ls", "remove": "rm"},
    "slurm": {"list": "ls"},
}


def command_of(path: Path) -> Command:
    """The command of a path such as ("runs", "stop") or ("report",)."""
    entry = COMMANDS[path[0]]
    return entry.verbs[path[1]] if isinstance(entry, Noun) else entry


def leaf_paths() -> list[Path]:
    """The paths of all commands, in the order of the help."""
    paths: list[Path] = []
    for name, entry in COMMANDS.items():
        paths += [(name, verb) for verb in entry.verbs] if isinstance(entry, Noun) else [(name,)]
    return paths
