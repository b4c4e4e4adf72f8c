"""The program of a Ray job: runs the user's command, which a variable carries past the shell."""

import os
import sys

VARIABLE = "EAGLERAY_ENTRY"


def main() -> int:
    """Replaces this process with the program; ends with 127 if it can't be started, as a shell does."""
    # `python -c` and `-m` put the folder in which Ray was started first (measured with 2.60); a file there may have the
    # name of a library.
    del sys.path[0]
    import json
    import shutil

    command = json.loads(os.environ.pop(VARIABLE))
    argv = command["argv"]
    try:
        os.chdir(command["cwd"])
    except OSError as error:
        _print(f"the head of the cluster has no folder {command['cwd']} ({error.strerror})")
        _print("A job is started there under the same path; copy your code to it.")
        return 127
    script = os.environ.get("EAGLERAY_SCRIPT", "")
    copies = [
        argument
        for argument in argv
        if script and argument.endswith(f"/script/{os.path.basename(script)}")
    ]
    if not all(os.path.exists(copy) for copy in copies):
        _print(
            f"the head of the cluster does not see {copies[0]}, the copy that is run in place of {script}"
        )
        _print(
            "Set EAGLERAY_HOME to a folder that both see, or mend the script so that it needs no copy."
        )
        return 127
    if argv[0] in ("python", "python3") and shutil.which(argv[0]) is None:
        argv[0] = sys.executable
    sys.stdout.flush()
    try:
        os.execvp(argv[0], argv)  # noqa: S606 (the user's own command)
    except OSError as error:
        _print(f"{argv[0]} cannot be started: {error.strerror}")
        return 127


def _print(text: str) -> None:
    sys.stderr.write(f"eagleray: {text}\n")


if __name__ == "__main__":
    sys.exit(main())
