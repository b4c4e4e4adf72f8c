"""The tables of the command line: groups, nouns with their verbs, commands, and the short names that mean them."""

from __future__ import annotations

from attrs import frozen

from eagleray.common.l10n import later


@frozen
class Command:
    """A command and the module that implements it, which is imported only for this command.

    The module has `<arguments>(parser)`, the coroutine `<function>(app, arguments)` that returns the exit code, and
    optionally `check(arguments)`, which returns what is wrong with them.  A command without `needs_app` is a plain
    function of its arguments alone.  `takes_program`: the user's command follows `--`.
    `required`: an option without which it doesn't start, with a value that fits all.
    """

    module: str
    help: str
    function: str = "run"
    arguments: str = "add_arguments"
    examples: tuple[tuple[str, str], ...] = ()
    takes_program: bool = False
    required: tuple[str, ...] = ()
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
    later("List workers, attach to them and read their logs"),
    {
        "ls": Command(
            "debug.workers",
            later("List workers and their states"),
            examples=(
                ("workers ls", later("every worker of your clusters")),
                ("workers ls --paused", later("only workers that wait for you")),
                (
                    "workers ls --paused -o name | xargs eagleray workers continue",
                    later("resume them all"),
                ),
            ),
        ),
        "attach": Command(
            "debug.attach",
            later("Attach to a paused worker for a DAP client"),
            examples=(
                ("workers attach policy-0", later("prints the Unix socket of its debugger")),
                ("workers attach 15e98c0f --json", later("socket and stop location as JSON")),
            ),
        ),
        "continue": Command(
            "debug.resume",
            later("Resume workers until their next breakpoint"),
            "continue_",
            examples=(
                ("workers continue policy-0 policy-1", later("two workers")),
                ("workers continue --all", later("every paused worker")),
            ),
        ),
        "detach": Command(
            "debug.resume",
            later("Resume held workers and detach"),
            "release",
            examples=(("workers detach --all", later("detach every held worker")),),
        ),
        "logs": Command(
            "debug.logs",
            later("Print the log of a worker"),
            examples=(
                ("workers logs policy-0 --follow", later("its output, as it is written")),
                ("workers logs policy-0 --err --lines 50", later("the last 50 lines of stderr")),
            ),
        ),
    },
)
RUNS = Noun(
    later("List runs, print their output, stop or rerun them"),
    {
        "ls": Command(
            "runs.runs",
            later("List your last runs"),
            arguments="add_list_arguments",
            function="list_runs",
            examples=(
                ("runs ls", ""),
                ("runs ls -o wide", later("with exit reason, cluster and folder")),
            ),
        ),
        "output": Command(
            "runs.runs",
            later("Print the output of a run, and follow it while it runs"),
            arguments="add_output_arguments",
            function="output",
            examples=(("runs output 3f2a", later("any unambiguous beginning of the ID")),),
        ),
        "stop": Command(
            "runs.runs",
            later("Stop a run"),
            arguments="add_start_arguments",
            function="stop",
            examples=(("runs stop 3f2a", ""),),
        ),
        "rerun": Command(
            "runs.runs",
            later("Start the same command again"),
            arguments="add_start_arguments",
            function="rerun",
            examples=(("runs rerun 3f2a", ""),),
        ),
        "rm": Command(
            "runs.runs",
            later("Remove ended runs from the list"),
            arguments="add_ids_argument",
            function="remove",
            examples=(("runs rm 3f2a 91bc", ""),),
        ),
        "clear": Command(
            "runs.runs",
            later("Remove all ended runs from the list"),
            arguments="add_nothing",
            function="clear",
            examples=(("runs clear", ""),),
        ),
    },
)
SERVE = Noun(
    later("Start inference servers, list and stop them"),
    {
        "ls": Command(
            "rollouts.serve",
            later("List inference servers and their states"),
            arguments="add_list_arguments",
            function="list_servers",
            examples=(("serve ls", ""),),
        ),
        "start": Command(
            "rollouts.serve",
            later("Start a server, and return when it answers"),
            arguments="add_start_arguments",
            function="start",
            takes_program=True,
            examples=(
                ("serve start -- vllm serve Qwen/Qwen3-0.6B", later("on this machine")),
                (
                    "serve start --cluster head:8265 -- vllm serve Qwen/Qwen3-0.6B",
                    later("as a job of a Ray cluster"),
                ),
                (
                    "serve start --name judge --key-env KEY -- python server.py --port 9000",
                    later("a server of your own"),
                ),
            ),
        ),
        "stop": Command(
            "rollouts.serve",
            later("Stop a server with all its processes"),
            arguments="add_stop_arguments",
            function="stop",
            examples=(("serve stop vllm", ""),),
        ),
        "restart": Command(
            "rollouts.serve",
            later("Restart a server at the same port, with the same key"),
            arguments="add_stop_arguments",
            function="restart",
            examples=(("serve restart vllm", ""),),
        ),
        "env": Command(
            "rollouts.serve",
            later("Print a server's address and key as environment variables"),
            arguments="add_name_arguments",
            function="env",
            examples=(("serve env vllm", later("commands that set them in a shell")),),
        ),
        "add": Command(
            "rollouts.serve",
            later("Add a server that already runs"),
            arguments="add_url_arguments",
            function="add",
            examples=(("serve add http://gpu-1:8000/v1 --key-env MY_KEY", later("with its key")),),
        ),
    },
)
PROFILE = Noun(
    later("Record workers with Nsight Systems"),
    {
        "start": Command(
            "profile.profile",
            later("Start a program and record its workers"),
            takes_program=True,
            required=("--workers", "*"),
            examples=(
                ("profile start --workers '*Policy*' --seconds 10 -- python train.py", ""),
                (
                    "profile start --workers '*' --on-demand -- python train.py",
                    later("record later"),
                ),
            ),
        ),
        "record": Command(
            "profile.profile",
            later("Start a recording in the workers of a run"),
            arguments="add_record_arguments",
            function="record",
            examples=(("profile record 3f2a --seconds 10", later("ends after 10 s")),),
        ),
        "stop": Command(
            "profile.profile",
            later("End the recordings of a run"),
            arguments="add_run_argument",
            function="stop",
            examples=(("profile stop 3f2a", ""),),
        ),
        "download": Command(
            "profile.profile",
            later("Download the missing reports of a run"),
            arguments="add_run_argument",
            function="download",
            examples=(("profile download 3f2a", ""),),
        ),
    },
    default="start",
)
PRESETS = Noun(
    later("List, show and remove presets of short test runs"),
    {
        "ls": Command(
            "runs.presets",
            later("List the presets that apply in this folder"),
            arguments="add_list_arguments",
            function="list_presets",
            examples=(("presets ls", ""),),
        ),
        "show": Command(
            "runs.presets",
            later("Print a preset as JSON"),
            arguments="add_name_argument",
            function="show",
            examples=(("presets show verl", ""),),
        ),
        "rm": Command(
            "runs.presets",
            later("Remove one of your presets"),
            arguments="add_name_argument",
            function="remove",
            examples=(("presets rm nightly", ""),),
        ),
    },
)
CLUSTERS = Noun(
    later("List, add and remove Ray clusters"),
    {
        "ls": Command(
            "clusters.clusters",
            later("List clusters and their states"),
            examples=(
                ("clusters ls", ""),
                (
                    "clusters ls --cluster head:8265",
                    later("one cluster, and why it doesn't answer"),
                ),
            ),
        ),
        "add": Command(
            "clusters.clusters",
            later("Add a cluster to your list"),
            arguments="add_address_argument",
            function="add",
            examples=(
                ("clusters add head:8265", later("a dashboard")),
                ("clusters add ssh://login/8265", later("a dashboard behind ssh")),
                ("clusters add ssh://login/slurm://12345", later("Ray in a SLURM job")),
            ),
        ),
        "rm": Command(
            "clusters.clusters",
            later("Remove clusters from your list"),
            arguments="add_addresses_argument",
            function="remove",
            examples=(("clusters rm head:8265", ""),),
        ),
    },
)
SLURM = Noun(
    later("List your SLURM jobs with Ray"),
    {
        "ls": Command(
            "clusters.slurm",
            later("List your SLURM jobs with Ray"),
            examples=(("slurm ls --host login", later("the jobs of a login node")),),
        )
    },
)
ROLLOUTS = Noun(
    later("Read trajectories, and compare engines"),
    {
        "show": Command(
            "rollouts.trajectories",
            later("List the trajectories of a dump, or print one"),
            function="show",
            examples=(
                ("rollouts show rollout/", later("a folder of AReaL, verl or NeMo RL")),
                ("rollouts show 12.jsonl --search 'boxed{'", later("those with this text")),
                ("rollouts show 12.jsonl --item 7", later("one, turn by turn")),
                ("rollouts show 12.jsonl --stats", later("lengths, rewards and groups")),
            ),
        ),
        "compare": Command(
            "rollouts.rollouts_compare",
            later("Compare the logprobs of two engines, token by token"),
            examples=(
                (
                    "rollouts compare http://127.0.0.1:8000/v1 torch:model --data prompts.jsonl",
                    later("a server with a model in torch"),
                ),
                (
                    "rollouts compare rollouts torch:model?dtype=bfloat16 --data prompts.jsonl",
                    later("in the trainer's dtype"),
                ),
                (
                    "rollouts compare train_data_step3.jsonl train_data_step3.jsonl",
                    later("both logprobs of a dump of NeMo RL"),
                ),
            ),
        ),
        "batch": Command(
            "rollouts.batches",
            later("Sum up the tensors of a saved batch, or save one"),
            function="batch",
            examples=(
                ("rollouts batch batch_data.pt --vocabulary 151936", ""),
                ("rollouts batch train_data_step3.jsonl --save batch.pt", later("of a dump")),
            ),
        ),
        "replay": Command(
            "rollouts.replaying",
            later("Train on a saved batch without an inference engine"),
            function="replay",
            examples=(
                ("rollouts replay batch.pt --config gsm8k_grpo.yaml", later("AReaL")),
                (
                    "rollouts replay rollouts/ --framework verl --command 'bash run.sh'",
                    later("verl"),
                ),
            ),
        ),
    },
    default="show",
)
AGENT = Noun(
    later("Run an agent against an inference server"),
    {
        "run": Command(
            "rollouts.agent",
            later("Run an agent for one data item, as AReaL would"),
            examples=(
                (
                    "agent run my_agent:MyAgent --data train.jsonl:3 --server http://127.0.0.1:8000/v1",
                    "",
                ),
                (
                    "agent run agent.py:MyAgent --data items.json --server local --mode subproc",
                    later("in a process, with the server in its environment"),
                ),
            ),
        ),
        "wave": Command(
            "rollouts.agent",
            later("Run an agent many times at once, and say what slows it"),
            "wave",
            "add_wave_arguments",
            examples=(
                (
                    "agent wave my_agent:MyAgent --data train.jsonl --server local",
                    later("64 groups of 8"),
                ),
                (
                    "agent wave my_agent:MyAgent --data train.jsonl --server local"
                    " --groups 8 --timeout 60 --out traces.jsonl",
                    later("with a time-out and traces"),
                ),
            ),
        ),
        "integrate": Command(
            "rollouts.integrate",
            later("Run some items through AReaL's rollout controller, or one batch of verl"),
            "integrate",
            takes_program=True,
            examples=(
                (
                    "agent integrate --items 8 -- bash run_grpo.sh",
                    later("one step of verl with 8 prompts, without checkpoints"),
                ),
                (
                    "agent integrate my_agent:MyAgent --config train.yaml --data train.jsonl",
                    later("four items, in a trial of their own"),
                ),
                (
                    "agent integrate my_agent:MyAgent --config train.yaml --data train.jsonl --dry-run",
                    later("the command only"),
                ),
            ),
        ),
    },
    default="run",
)

GROUPS: dict[str, dict[str, Entry]] = {
    later("Debug"): {
        "run": Command(
            "runs.run",
            later("Start a program whose workers pause at breakpoints"),
            takes_program=True,
            examples=(
                ("run --break policy.py:23 -- python train.py", later("pause workers at a line")),
                ("run --post-mortem -- python train.py", later("pause on uncaught exceptions")),
                (
                    "run --cluster head:8265 --break policy.py:23 -- python train.py",
                    later("as a job"),
                ),
                (
                    "run --preset debug --dry-run -- bash run_grpo.sh",
                    later("preview a short test run"),
                ),
            ),
        ),
        "stacks": Command(
            "observe.stacks",
            later("Find out why a program is stuck"),
            examples=(
                ("stacks --pids 4711 4712", later("these processes and all of their ranks")),
                ("stacks 3f9c", later("a run")),
                ("stacks --cluster head:8265 --job 02000000", later("one job of a cluster")),
                ("stacks --cluster head:8265 --workers 'Policy*'", later("some of its workers")),
                ("stacks --slurm ssh://login/slurm://12345", later("all nodes of a SLURM job")),
                ("stacks --hosts gpu-1 gpu-2", later("your ranks on hosts, through ssh")),
                ("stacks --pids 4711 --save hang.json", later("keep the picture")),
            ),
        ),
        "inspect": Command(
            "observe.inspect",
            later("Look into a process that runs or hangs, without stopping it"),
            examples=(
                ("inspect policy-3 self.step 'loss.item()'", later("values in a worker")),
                ("inspect --pid 4711", later("the stack of a process of this machine")),
            ),
        ),
        "doctor": Command(
            "doctor.doctor",
            later("Find the first cause of a failure in logs"),
            takes_program=True,
            examples=(
                ("doctor /tmp/ray/session_latest/logs", later("all logs of a node")),
                ("doctor slurm-4711.out --json", later("one file, as JSON")),
                ("doctor --run 3f9c", later("the output of a run")),
                ("doctor --cluster slurm://4711", later("logs and nodes of a cluster")),
                ("doctor --before -- python train.py", later("check this node before a run")),
                ("doctor --report --cluster slurm://4711", later("the environment, for an issue")),
                ("doctor --test rules.json", later("try the examples of your rules")),
            ),
        ),
        "workers": WORKERS,
        "runs": RUNS,
        "presets": PRESETS,
        "serve": SERVE,
        "pdb": Command(
            "debug.pdb",
            later("List workers in Ray's own pdb, or open one"),
            examples=(
                ("pdb", later("workers that wait (RAY_DEBUG=legacy)")),
                ("pdb 6f1c", later("open one")),
            ),
        ),
    },
    later("Agents"): {"agent": AGENT},
    later("Profile"): {
        "profile": PROFILE,
        "report": Command(
            "profile.report",
            later("Print the tables of an Nsight Systems report"),
            examples=(
                ("report Policy.nsys-rep", ""),
                ("report Policy.nsys-rep --csv kernels --sort total --top 20", later("as CSV")),
            ),
        ),
    },
    later("Rollouts"): {
        "rollouts": ROLLOUTS,
    },
    later("Clusters"): {
        "clusters": CLUSTERS,
        "slurm": SLURM,
        "tunnel": Command(
            "clusters.tunnel",
            later("Open a local port into a cluster"),
            examples=(
                ("tunnel ssh://login/8265", later("the dashboard, until Ctrl-C")),
                ("tunnel ssh://login/8265 node-3:6006", later("another port of the cluster")),
            ),
        ),
    },
    later("Other"): {
        "completion": Command(
            "completion",
            later("Print the completion script of a shell"),
            needs_app=False,
            examples=(
                ("completion bash > ~/.local/share/bash-completion/completions/eagleray", ""),
                ('completion zsh > "${fpath[1]}/_eagleray"', ""),
                ("completion fish > ~/.config/fish/completions/eagleray.fish", ""),
            ),
        ),
        "schema": Command(
            "schema",
            later("Print the JSON schema of a command's --json"),
            needs_app=False,
            examples=(("schema paused", ""), ("schema", later("the names of all schemas"))),
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
    "serve": {"list": "ls", "rm": "stop"},
    "agent": {},
    "presets": {"list": "ls", "delete": "rm", "remove": "rm"},
    "rollouts": {"open": "show"},
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
