"""Rules on the facts of a node: what will make a distributed program fail there, or slow.

Each is a function of the facts that `remote/scripts/node_facts.py` prints; it returns what was read as text, or "" if all is
well.  Facts that a node couldn't read are None or missing and never a finding.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from attrs import frozen

from eagleray.common.errors import printable
from eagleray.common.l10n import later
from eagleray.doctor.model import Advice

Facts = Mapping[str, Any]

GIB = 2**30
_LEAST_NOFILE = 65_535
# Ray's object store takes 30 % of the memory, in /dev/shm (2.60, DEFAULT_OBJECT_STORE_MEMORY_PROPORTION).
_SHM_SHARE = 0.3
_LEAST_TMP = 5 * GIB
_FULL = 0.95
_SHORT_JOB_S = 1800
# Ports that Ray, torchrun and engines take unless told otherwise.
_PORTS = {6379: "Ray's GCS", 8265: "Ray's dashboard", 10001: "Ray Client", 29500: "torchrun"}
_ENGINE_PORTS = {8000: "vLLM", 30000: "SGLang"}


@frozen(kw_only=True)
class NodeRule(Advice):
    """`read` returns what is wrong, as was read; `place` is where.

    `before`: it means nothing where Ray runs already.
    """

    place: str
    read: Callable[[Facts], str]
    meaning: str
    before: bool = False


def _shm(facts: Facts) -> str:
    shm, memory = facts.get("shm"), facts.get("memory")
    limit = (facts.get("cgroup") or {}).get("limit")
    # Ray takes a limit of the container for its memory (2.60, `_common/utils.py`).
    memory = min(memory, limit) if memory and limit else memory
    if not shm or not memory or shm["size"] >= _SHM_SHARE * memory:
        return ""
    return f"{_gib(shm['size'])} of {_gib(memory)} memory"


def _nofile(facts: Facts) -> str:
    limits = [
        process["nofile"] for process in facts.get("processes", ()) if process["name"] == "raylet"
    ] or [facts["nofile"][0]]
    lowest = min((limit for limit in limits if limit is not None and limit >= 0), default=None)
    return str(lowest) if lowest is not None and lowest < _LEAST_NOFILE else ""


def _cgroup_full(facts: Facts) -> str:
    cgroup = facts.get("cgroup")
    if not cgroup or not cgroup["limit"] or not cgroup["used"]:
        return ""
    is_full = cgroup["used"] > _FULL * cgroup["limit"]
    return f"{_gib(cgroup['used'])} of {_gib(cgroup['limit'])}" if is_full else ""


def _cgroup_kills(facts: Facts) -> str:
    cgroup = facts.get("cgroup")
    return str(cgroup["kills"]) if cgroup and cgroup["kills"] else ""


def _ray_disk(facts: Facts) -> str:
    disk = facts.get("ray_tmp")
    if not disk or not disk["size"]:
        return ""
    # Ray stops to store objects when the disk is 95 % full (local_fs_capacity_threshold in `ray_config_def.h`).
    is_full = disk["free"] < _LEAST_TMP or disk["free"] < (1 - _FULL) * disk["size"]
    return f"{disk['path']}: {_gib(disk['free'])}" if is_full else ""


def _host_name(facts: Facts) -> str:
    loopback = [address for address in facts.get("resolved", ()) if address.startswith("127.")]
    is_alone = not facts.get("addresses") or "GLOO_SOCKET_IFNAME" in _variables(facts)["interfaces"]
    return "" if is_alone or not loopback else f"{facts['host']} → {', '.join(loopback)}"


def _interfaces(facts: Facts) -> str:
    existing = {entry["interface"] for entry in facts.get("addresses", ())}
    return ", ".join(
        f"{variable}={value}"
        for variable, value in _variables(facts)["interfaces"].items()
        if existing and not any(_fits(value, name) for name in existing | {"lo"})
    )


def _fits(value: str, interface: str) -> bool:
    """NCCL's form: prefixes, "=" for exact names, "^" for those to leave out."""
    if value.startswith("^"):
        return True
    if value.startswith("="):
        return interface in value[1:].split(",")
    return any(interface.startswith(part) for part in value.split(","))


def _proxies(facts: Facts) -> str:
    variables = _variables(facts)
    if not variables["proxies"]:
        return ""
    left_out = [part.strip() for part in variables["no_proxy"].split(",")]
    if "*" in left_out:
        return ""
    missing = [
        entry["address"]
        for entry in facts.get("addresses", ())
        if not any(_leaves_out(part, entry["address"]) for part in left_out)
    ]
    return f"{', '.join(variables['proxies'])}; no_proxy: {', '.join(missing)}" if missing else ""


def _leaves_out(part: str, address: str) -> bool:
    """An address, a network such as 10.0.0.0/16, or a beginning such as 10.0.* or 10.0."""
    if part.endswith((".", "*")):
        return len(part) > 1 and address.startswith(part.rstrip("*"))
    try:
        return ipaddress.ip_address(address) in ipaddress.ip_network(part, strict=False)
    except ValueError:
        return False


def _no_ptrace(facts: Facts) -> str:
    scope = facts.get("ptrace_scope") or 0
    # With CAP_SYS_PTRACE only 3 forbids it.
    return str(scope) if scope >= (3 if facts.get("may_trace") else 2) else ""


def _ptrace_of_children(facts: Facts) -> str:
    is_limited = facts.get("ptrace_scope") == 1 and facts.get("may_trace") is False
    return "1" if is_limited else ""


def _ports(facts: Facts) -> str:
    names = {**_PORTS, **_ENGINE_PORTS}
    return ", ".join(
        f"{entry['port']} ({names[entry['port']]}): {listener_text(entry)}"
        for entry in facts.get("listeners", ())
        if entry["port"] in names
    )


def listener_text(entry: Mapping[str, Any]) -> str:
    """The program that listens, where that could be read, and else its user."""
    program = entry.get("program")
    return f"{program} (PID {entry['pid']})" if program else str(entry.get("user", "?"))


def _ephemeral(facts: Facts) -> str:
    ports = facts.get("ephemeral_ports") or []
    in_range = [str(port) for port in _PORTS if len(ports) == 2 and ports[0] <= port <= ports[1]]
    return f"{ports[0]}-{ports[1]}: {', '.join(in_range)}" if in_range else ""


def _legacy(facts: Facts) -> str:
    return "RAY_DEBUG=legacy" if _variables(facts)["ray_debug"] == "legacy" else ""


def _nccl_timeout(facts: Facts) -> str:
    return "NCCL_TIMEOUT" if _variables(facts)["nccl_timeout"] else ""


def _leftovers(facts: Facts) -> str:
    """Returns leftover processes, those with GPU memory first."""
    left = [process for process in facts.get("processes", ()) if process.get("is_left")]
    left.sort(key=lambda process: -process.get("gpu_mib", 0))
    parts = [", ".join(_leftover(process) for process in left[:20])] if left else []
    others = facts.get("others_left") or {}
    if others:
        counts = ", ".join(f"{user} {count}" for user, count in sorted(others.items()))
        parts.append(f"other users: {counts}")
    return "; ".join(parts)


def _leftover(process: Mapping[str, Any]) -> str:
    pid, memory = process["pid"], process.get("gpu_mib", 0)
    return f"{process['name']} (PID {pid}): {_gib(memory * 2**20)} of a GPU" if memory else str(pid)


def _time_left(facts: Facts) -> str:
    left = facts.get("job_left_s")
    end = _variables(facts)["slurm_end"]
    if left is None:
        left = int(end) - facts["time"] if end.isdigit() else _SHORT_JOB_S
    return str(timedelta(seconds=max(0, int(left)))) if left < _SHORT_JOB_S else ""


def _cpus(facts: Facts) -> str:
    cpus, all_cpus = facts.get("cpus"), facts.get("all_cpus")
    if not cpus or not all_cpus or cpus >= all_cpus or not _variables(facts)["slurm_cpus"]:
        return ""
    return f"{cpus} of {all_cpus}"


def _no_ray(facts: Facts) -> str:
    return "" if facts["packages"].get("ray") else str(facts["executable"])


def _no_debugpy(facts: Facts) -> str:
    return "" if facts["packages"].get("debugpy") else str(facts["executable"])


def _graphics(facts: Facts) -> str:
    files = facts.get("graphics") or ()
    missing = [
        name
        for name, part in (("EGL", "egl_vendor"), ("Vulkan", "vulkan"))
        if not any(part in file for file in files)
    ]
    return ", ".join(missing) if facts.get("gpus") else ""


def _raylet_variables(facts: Facts) -> str:
    lacking = {name for process in facts.get("processes", ()) for name in process.get("lacks", ())}
    return ", ".join(sorted(lacking)[:20])


def _node_address(facts: Facts) -> str:
    node, own = facts.get("node"), [entry["address"] for entry in facts.get("addresses", ())]
    try:
        is_own = not own or ipaddress.ip_address(node or "127.0.0.1").is_loopback or node in own
    except ValueError:
        return ""
    return "" if is_own else f"{node}; {', '.join(own)}"


def _clock(facts: Facts) -> str:
    difference = facts.get("clock_offset", 0.0)
    return f"{difference:+.1f} s" if abs(difference) > 5 else ""


def name_of(facts: Facts) -> str:
    """How a node is called: its address in the cluster, or else its host name."""
    return printable(str(facts.get("node") or facts.get("host") or "?"), 200)


def _variables(facts: Facts) -> Mapping[str, Any]:
    variables: Mapping[str, Any] = facts["variables"]
    return variables


def _gib(size: float) -> str:
    return f"{size / GIB:.1f} GiB"


RULES: tuple[NodeRule, ...] = (
    NodeRule(
        id="node-cgroup-full",
        severity="error",
        place="memory.current",
        read=_cgroup_full,
        meaning=later("The memory of this container or job is nearly full."),
        fix=later("End other programs in it, or request more memory."),
        source="Linux cgroup v2 memory.current",
    ),
    NodeRule(
        id="node-disk",
        severity="error",
        place="RAY_TMPDIR",
        read=_ray_disk,
        meaning=later("The disk of Ray's temporary files is nearly full."),
        fix=later("Free space, or start Ray with --temp-dir on another disk."),
        source="ray local_fs_capacity_threshold 0.95",
    ),
    NodeRule(
        id="node-shm",
        severity="warning",
        place="shm",
        read=_shm,
        meaning=later("Shared memory is small: Ray's object store may go to disk."),
        fix=later("Start the container with a larger --shm-size, or with --ipc=host."),
        source="InftyAI/llmaz#238; ray#14616",
    ),
    NodeRule(
        id="node-nofile",
        severity="warning",
        place="/proc/PID/limits",
        read=_nofile,
        meaning=later("The soft limit of open files is low for many workers."),
        fix=later("Raise the soft limit of open files before Ray starts."),
        source="NVIDIA-NeMo/RL#988; verl#2047; ray#10104",
        command="ulimit -Sn 65535",
    ),
    NodeRule(
        id="node-host-name",
        severity="warning",
        place="/etc/hosts",
        read=_host_name,
        meaning=later("This host's name resolves to loopback, where gloo then listens."),
        fix=later("Set GLOO_SOCKET_IFNAME, or correct /etc/hosts."),
        source="RLinf/RLinf#925",
    ),
    NodeRule(
        id="node-address",
        severity="warning",
        place="/proc/net",
        read=_node_address,
        meaning=later("Ray uses an address that no interface of this node has."),
        fix=later("Start Ray with --node-ip-address of a network that all nodes reach."),
        source="ray 2.60 scripts.py --node-ip-address",
    ),
    NodeRule(
        id="node-interface",
        severity="error",
        place="NCCL_SOCKET_IFNAME",
        read=_interfaces,
        meaning=later("A network interface is configured that this node doesn't have."),
        fix=later("Set the variable to an interface of this node."),
        source="NVIDIA NCCL documentation",
        command="ip -4 addr",
    ),
    NodeRule(
        id="node-proxy",
        severity="warning",
        place="no_proxy",
        read=_proxies,
        meaning=later("A proxy is set that requests between nodes would use."),
        fix=later("Add the addresses of the nodes to no_proxy."),
        source="RLinf without_http_proxies",
    ),
    NodeRule(
        id="node-port",
        severity="info",
        place="/proc/net/tcp",
        read=_ports,
        meaning=later("Usual ports of Ray, torchrun or engines are taken."),
        fix=later("Configure other ports, or end the programs that listen there."),
        source="OpenRLHF#674; verl#6448",
        before=True,
    ),
    NodeRule(
        id="node-ephemeral",
        severity="warning",
        place="ip_local_port_range",
        read=_ephemeral,
        meaning=later("Outgoing connections may take ports that Ray needs."),
        fix=later("Configure ports outside of this range."),
        source="NeMo RL cluster.master_port_range_low",
    ),
    NodeRule(
        id="node-leftover",
        severity="warning",
        place="/proc",
        read=_leftovers,
        meaning=later("Workers of an ended Ray are still running."),
        fix=later("End them; they may hold GPU memory."),
        source="RLinf docs/faq",
    ),
    NodeRule(
        id="node-legacy-debugger",
        severity="warning",
        place="environment",
        read=_legacy,
        meaning=later("Ray's old debugger is on, so paused workers aren't listed."),
        fix=later("Unset RAY_DEBUG."),
        source="NeMo RL docs/debugging.md",
    ),
    NodeRule(
        id="node-nccl-timeout",
        severity="info",
        place="environment",
        read=_nccl_timeout,
        meaning=later("NCCL_TIMEOUT has no effect: no framework reads it."),
        fix=later("Set the time-out in the framework's configuration."),
        source="ProcessGroupNCCL.hpp of torch 2.13",
    ),
    NodeRule(
        id="node-raylet-variables",
        severity="info",
        place="/proc/PID/environ",
        read=_raylet_variables,
        meaning=later("Ray already runs here without variables that are set for the program."),
        fix=later("Set them before Ray starts, or as env_vars of the runtime_env."),
        source="ray docs handling-dependencies",
        before=True,
    ),
    NodeRule(
        id="node-time-left",
        severity="warning",
        place="SLURM",
        read=_time_left,
        meaning=later("The SLURM job ends soon."),
        fix=later("Save checkpoints, or start in a longer job."),
        source="squeue TimeLeft; SLURM_JOB_END_TIME of srun",
    ),
    NodeRule(
        id="node-cpus",
        severity="warning",
        place="/proc/self/status",
        read=_cpus,
        meaning=later("The job has fewer CPUs than Ray will count."),
        fix=later("Start Ray with --num-cpus."),
        source="verl docs/faq",
    ),
    NodeRule(
        id="node-no-ray",
        severity="info",
        place="site-packages",
        read=_no_ray,
        meaning=later("The program's Python has no Ray."),
        fix=later("Install it there, or select another Python."),
        source="Python packages",
    ),
    NodeRule(
        id="node-no-debugpy",
        severity="info",
        place="site-packages",
        read=_no_debugpy,
        meaning=later("The program's Python has no debugpy for Ray's breakpoints."),
        fix=later("Install debugpy there to use `breakpoint()` in workers."),
        source="ray 2.60 util/debugpy.py",
    ),
    NodeRule(
        id="node-ptrace",
        severity="info",
        place="ptrace_scope",
        read=_no_ptrace,
        meaning=later("Stacks of other processes can't be read here."),
        fix=later("Start programs through Eagleray, which needs no ptrace."),
        source="Linux Documentation/admin-guide/LSM/Yama.rst",
    ),
    NodeRule(
        id="node-ptrace-children",
        severity="info",
        place="ptrace_scope",
        read=_ptrace_of_children,
        meaning=later("Here py-spy and Eagleray can only read processes that they have started."),
        fix=later("Start programs through Eagleray, or have ptrace_scope set to 0."),
        source="Linux Documentation/admin-guide/LSM/Yama.rst",
    ),
    NodeRule(
        id="node-kills",
        severity="info",
        place="memory.events",
        read=_cgroup_kills,
        meaning=later("The kernel has killed processes here because memory was full."),
        fix=later("Request more memory, or keep fewer copies in memory."),
        source="Linux cgroup v2 memory.events",
    ),
    NodeRule(
        id="node-graphics",
        severity="info",
        place="/usr/share/glvnd",
        read=_graphics,
        meaning=later("Graphics drivers that simulators need are missing."),
        fix=later("Set NVIDIA_DRIVER_CAPABILITIES=all, or MUJOCO_GL=osmesa."),
        source="RLinf docs/faq",
    ),
    NodeRule(
        id="node-clock",
        severity="warning",
        place="clock",
        read=_clock,
        meaning=later("This node's clock differs from the others'."),
        fix=later("Have its clock synchronised (NTP)."),
        source="general",
    ),
)


def _ray_and_python(facts: Facts) -> str:
    ray, python = facts["packages"].get("ray", ""), ".".join(facts["python"].split(".")[:2])
    return f"Ray {ray}, Python {python}" if ray else ""


def _packages(facts: Facts) -> str:
    packages = facts["packages"]
    names = ("debugpy", "torch", "vllm", "sglang", "transformers")
    return ", ".join(f"{name} {packages[name]}" for name in names if name in packages)


# Rules whose `read` says what each node has: a finding where nodes differ.
DIFFERENCES: tuple[NodeRule, ...] = (
    NodeRule(
        id="nodes-ray",
        severity="error",
        place="site-packages",
        read=_ray_and_python,
        meaning=later("Nodes have different versions of Ray or Python."),
        fix=later("Install the same versions on all nodes."),
        source="ray 2.60 _private/utils.py check_version_info",
    ),
    NodeRule(
        id="nodes-packages",
        severity="warning",
        place="site-packages",
        read=_packages,
        meaning=later("Nodes have different versions of packages."),
        fix=later("Install the same versions on all nodes."),
        source="ray docs handling-dependencies",
    ),
    NodeRule(
        id="nodes-driver",
        severity="warning",
        place="/proc/driver/nvidia/version",
        read=lambda facts: str(facts.get("driver") or ""),
        meaning=later("Nodes have different GPU drivers."),
        fix=later("Use nodes with the same driver; NCCL and CUDA may fail otherwise."),
        source="NVIDIA CUDA compatibility guide",
    ),
)
