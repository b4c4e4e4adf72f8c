"""The entry of our code into a process of a run: Python imports it by this name; then it imports the user's own."""

import contextlib
import os
import sys


def begin() -> None:
    """Starts the package of the run.  If that fails, it prints one line and the program continues."""
    try:
        site = os.path.dirname(os.path.abspath(__file__))
        # In our own folder this file lies within the package; in an uploaded one it lies beside it.
        package = os.path.dirname(site)
        if not os.path.exists(os.path.join(package, "starting.py")):
            package = os.path.join(site, package_name())
        # Only for this import: the program must not find modules there.
        sys.path.insert(0, os.path.dirname(package))
        try:
            starting = __import__(f"{os.path.basename(package)}.starting", fromlist=["start"])
        finally:
            sys.path.remove(os.path.dirname(package))
        starting.start(site)
    except Exception as error:
        # There may be no stderr, or one that nothing reads.
        with contextlib.suppress(Exception):
            sys.stderr.write(
                f"eagleray: what this run is for (breakpoints, profiling) does not work here: {error!r}\n"
            )


def package_name() -> str:
    """The package of this run by its settings; a node may have packages of several runs."""
    import json

    return str(json.loads(os.environ["EAGLERAY_RUN"])["package"])


def chain() -> None:
    """Imports the sitecustomize that Python would have found without ours; raises what that raises."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if entry != here]
    ours = sys.modules.pop("sitecustomize", None)
    try:
        __import__("sitecustomize")
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        # The import that runs this file searches for its own module at the end.
        if ours is not None:
            sys.modules.setdefault("sitecustomize", ours)


# A system tool that the program starts may run in a Python that is too old for our code.
if os.environ.get("EAGLERAY_RUN") and sys.version_info >= (3, 9):
    begin()
chain()
