"""The first of our code in a process of a run: Python imports it by this name, and it hands on to the person's own."""

import os
import sys


def begin() -> None:
    """Starts the package of the run; whatever goes wrong with it is one line, and the program goes on."""
    try:
        site = os.path.dirname(os.path.abspath(__file__))
        # In a folder of ours this file lies within the package; in an uploaded one it lies beside it.
        package = os.path.dirname(site)
        if not os.path.exists(os.path.join(package, "starting.py")):
            package = os.path.join(site, named())
        # For this moment only: nothing of the program may be found there.
        sys.path.insert(0, os.path.dirname(package))
        try:
            starting = __import__(f"{os.path.basename(package)}.starting", fromlist=["start"])
        finally:
            sys.path.remove(os.path.dirname(package))
        starting.start(site)
    except Exception as error:
        # Without a stderr there is nobody to tell it to.
        if sys.stderr is not None:
            sys.stderr.write(
                f"eagleray: what this run is for (breakpoints, profiling) does not work here: {error!r}\n"
            )


def named() -> str:
    """The package of the run, as its settings say; a cluster can have had several."""
    import json

    return str(json.loads(os.environ["EAGLERAY_RUN"])["package"])


def chain() -> None:
    """Imports the sitecustomize that Python would have found without ours, with all that it raises."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if entry != here]
    ours = sys.modules.pop("sitecustomize", None)
    try:
        __import__("sitecustomize")
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        # The import that runs this file looks for its own module at the end.
        if ours is not None:
            sys.modules.setdefault("sitecustomize", ours)


# A tool of the system that a program starts may be of an older Python, for which our code is none.
if os.environ.get("EAGLERAY_RUN") and sys.version_info >= (3, 9):
    begin()
chain()
