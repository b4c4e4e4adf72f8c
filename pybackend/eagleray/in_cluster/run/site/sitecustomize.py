"""The first of our code in a process of a run: Python imports it by this name, and it hands on to the person's own."""

import os
import sys


def begin() -> None:
    """Starts the package of the run; whatever goes wrong with it is one line, and the program goes on."""
    try:
        import importlib.util
        import json

        site = os.path.dirname(os.path.abspath(__file__))
        name = str(json.loads(os.environ["EAGLERAY_RUN"])["package"])
        beside = os.path.join(os.path.dirname(site), "starting.py")
        # In a folder of ours this file lies within the package; in an uploaded one it lies beside it.
        within = os.path.exists(beside)
        folder = os.path.dirname(site) if within else os.path.join(site, name)
        if name not in sys.modules:
            spec = importlib.util.spec_from_file_location(
                name,
                os.path.join(folder, "__init__.py"),
                submodule_search_locations=[folder],
            )
            if spec is None or spec.loader is None:
                raise ImportError(f"no package in {folder}")
            module = importlib.util.module_from_spec(spec)
            sys.modules[name] = module
            spec.loader.exec_module(module)
        importlib.import_module(f"{name}.starting").start(site)
    except Exception as error:
        sys.stderr.write(f"eagleray: breakpoints of this run do not work here: {error!r}\n")


def chain() -> None:
    """Imports the sitecustomize that Python would have found without ours, with all that it raises."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if entry != here]
    ours = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        # The import that runs this file looks for its own module at the end.
        if ours is not None:
            sys.modules.setdefault("sitecustomize", ours)


if os.environ.get("EAGLERAY_RUN"):
    begin()
chain()
