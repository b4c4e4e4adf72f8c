"""The one entry script: `eagleray_start.py [--libs DIR]… sidecar|adapter|supervise|askpass|cli|print-messages …`.

It needs nothing but the standard library and its own folder, so that it runs isolated (`python -I -S`),
when neither the folder of the script nor site-packages are on the path.  Our libraries are then found
in the packaged `_libs` beside our folder, or where `--libs` says.
"""

import sys
from pathlib import Path

# The oldest Python that the code is written for; below it even importing fails with a syntax error,
# which is why this file keeps to what any Python 3 can read.
OLDEST = (3, 10)


def main() -> int:
    if sys.version_info < OLDEST:
        sys.stderr.write("Eagleray needs Python 3.10 or newer; this is %s.\n" % sys.version)  # noqa: UP031
        return 3
    arguments = sys.argv[1:]
    libs = []
    while arguments[:1] == ["--libs"]:
        libs.append(arguments[1])
        del arguments[:2]
    here = Path(__file__).resolve().parent
    sys.path[:0] = [str(here), *(libs or packaged_libs(here.parent / "_libs"))]
    return run(arguments[0] if arguments else "", arguments[1:])


def packaged_libs(folder: Path) -> "list[str]":
    """The libraries of a packaged extension: libraries for any Python, and libraries compiled for this one."""
    ours = "cp{}{}".format(*sys.version_info)
    return [str(folder / name) for name in ("any", ours) if (folder / name).is_dir()]


def run(what: str, arguments: "list[str]") -> int:
    """Imports only what is asked for, since a person waits for its start."""
    if what in ("sidecar", "cli"):
        from eagleray.common.garbage import collect_seldom

        collect_seldom()
    if what == "sidecar":
        from eagleray.sidecar.main import main as sidecar

        return sidecar(arguments)
    if what == "adapter":
        from eagleray.adapter.main import main as adapter

        return adapter(arguments)
    if what == "cli":
        from eagleray.cli.main import main as cli

        return cli(arguments)
    if what == "supervise":
        from eagleray.supervisor.main import main as supervise

        return supervise(arguments)
    if what == "askpass":
        from eagleray.routes.ssh.askpass_helper import main as askpass

        return askpass(arguments)
    if what == "pdb-terminal":
        from eagleray.cli.debug.pdb_terminal import main as pdb_terminal

        return pdb_terminal(arguments)
    if what == "print-messages":
        from eagleray.sidecar.typescript import main as print_messages

        return print_messages(arguments)
    sys.stderr.write(
        "usage: eagleray_start.py [--libs DIR]… sidecar|adapter|supervise|askpass|cli|print-messages\n"
    )
    return 2


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        # While modules are still imported; later each part handles it.
        sys.exit(130)
