"""The one entry script: `eagleray_start.py [--libs DIR]… sidecar|adapter|cli|print-messages …`.

It needs nothing but the standard library and its own folder, so that it runs isolated (`python -I -S`),
when neither the folder of the script nor site-packages are on the path; `--libs` names the folders of
our libraries instead.
"""

import sys

# The oldest Python that the code is written for; below it even importing fails with a syntax error.
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
    # Path objects would cost an import; the adapter's start is waited for by a person.
    sys.path[:0] = [__file__.rpartition("/")[0] or ".", *libs]
    what = arguments.pop(0) if arguments else ""
    if what == "sidecar":
        from eagleray.sidecar.main import main as run
    elif what == "adapter":
        from eagleray.adapter.main import main as run
    elif what == "cli":
        from eagleray.cli.main import main as run
    elif what == "print-messages":
        from eagleray.sidecar.typescript import main as run
    else:
        sys.stderr.write(
            "usage: eagleray_start.py [--libs DIR]… sidecar|adapter|cli|print-messages\n"
        )
        return 2
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
