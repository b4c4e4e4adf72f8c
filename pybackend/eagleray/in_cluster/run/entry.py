"""The program of a Ray job: the words that a person would type, carried past the shell in a variable."""

import sys

# Python puts the folder in which Ray was started first, where a file may bear the name of a library.
del sys.path[0]

import json  # noqa: E402
import os  # noqa: E402
import shutil  # noqa: E402

VARIABLE = "EAGLERAY_ENTRY"


def main() -> int:
    """Becomes the program; ends with 127 when there is none, as a shell does."""
    said = json.loads(os.environ.pop(VARIABLE))
    argv = said["argv"]
    try:
        os.chdir(said["cwd"])
    except OSError as error:
        _say(f"the head of the cluster has no folder {said['cwd']} ({error.strerror})")
        _say("A job is started there under the same path; copy your code to it.")
        return 127
    if argv[0] in ("python", "python3") and shutil.which(argv[0]) is None:
        argv[0] = sys.executable
    sys.stdout.flush()
    try:
        os.execvp(argv[0], argv)  # noqa: S606
    except OSError as error:
        _say(f"{argv[0]} cannot be started: {error.strerror}")
        return 127


def _say(text: str) -> None:
    sys.stderr.write(f"eagleray: {text}\n")


if __name__ == "__main__":
    sys.exit(main())
