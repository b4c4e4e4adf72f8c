"""The entry of the agent runner: reads its plan and runs it in the folder of the user's program.

The plan is the first line of standard input, or a file that `--plan` names. It has the key of the server, so it is never
an argument.
"""

import os
import sys


def package_of(file: str) -> str:
    """The package that this file lies in, as an importable name; its parent becomes the last entry of the path."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(file)))
    # Last, so that no module of the user is hidden; processes of a pool import it by this name, too.
    sys.path.append(os.path.dirname(package))
    return os.path.basename(package)


def main() -> None:
    folder = os.path.dirname(os.path.abspath(__file__))
    # Python puts the folder of a script first, where the user's modules belong.
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != folder]
    sys.path.insert(0, os.getcwd())
    name = f"{package_of(__file__)}.agents.runner"
    runner = __import__(name, fromlist=["main"])
    runner.main(sys.argv[1:])


if __name__ == "__main__":
    main()
