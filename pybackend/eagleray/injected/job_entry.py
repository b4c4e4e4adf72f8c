"""The program of a Ray job: the words that a person would type, carried past the shell in a variable."""

import os
import sys

VARIABLE = "EAGLERAY_ENTRY"


def main() -> int:
    """Becomes the program; ends with 127 when there is none, as a shell does."""
    # Python puts the folder in which Ray was started first, where a file may bear the name of a library.
    del sys.path[0]
    import json
    import shutil

    said = json.loads(os.environ.pop(VARIABLE))
    argv = said["argv"]
    try:
        os.chdir(said["cwd"])
    except OSError as error:
        _say(f"the head of the cluster has no folder {said['cwd']} ({error.strerror})")
        _say("A job is started there under the same path; copy your code to it.")
        return 127
    script = os.environ.get("EAGLERAY_SCRIPT", "")
    copies = [
        word for word in argv if script and word.endswith(f"/script/{os.path.basename(script)}")
    ]
    if not all(os.path.exists(copy) for copy in copies):
        _say(
            f"the head of the cluster does not see {copies[0]}, the copy that is run in place of {script}"
        )
        _say(
            "Set EAGLERAY_HOME to a folder that both see, or mend the script so that it needs no copy."
        )
        return 127
    if argv[0] in ("python", "python3") and shutil.which(argv[0]) is None:
        argv[0] = sys.executable
    sys.stdout.flush()
    try:
        os.execvp(argv[0], argv)  # noqa: S606 (the person's own command)
    except OSError as error:
        _say(f"{argv[0]} cannot be started: {error.strerror}")
        return 127


def _say(text: str) -> None:
    sys.stderr.write(f"eagleray: {text}\n")


if __name__ == "__main__":
    sys.exit(main())
