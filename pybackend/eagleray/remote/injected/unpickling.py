"""Hook into unpickling: a function that a pickle makes is looked up by the file of its code before it can run.

A function of `__main__`, or one that is pickled by value for another reason, is in no module that is imported.  It can be
an argument, a part of an object, or come through a queue or a file.  All of them pass here, in whatever thread.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FunctionType, ModuleType
    from typing import Any

    from .import_hook import ImportHook

# cloudpickle's function is called last for each function that it makes; before version 3 it is in `cloudpickle_fast`.
_SET_STATE = "_function_setstate"
_CREATE = "_create_function"
CLOUDPICKLES = ("cloudpickle", "ray.cloudpickle", "joblib.externals.cloudpickle")
FUNCTIONS = {
    **{f"{package}.cloudpickle": _SET_STATE for package in CLOUDPICKLES},
    **{f"{package}.cloudpickle_fast": _SET_STATE for package in CLOUDPICKLES},
    "dill._dill": _CREATE,
}


class UnpicklingHook:
    """Calls `on_code` with the file and module of the first function of each file; it may wait.

    A second thread that makes a function of the same file meanwhile calls it, too.  Functions within functions are of
    the same file.
    """

    def __init__(self, on_code: Callable[[str, str], object]) -> None:
        self._on_code = on_code
        self._files: set[str] = set()

    def install(self, import_hook: ImportHook) -> None:
        for name in FUNCTIONS:
            import_hook.after(name, self.extend)

    def extend(self, module: ModuleType) -> None:
        name = FUNCTIONS[module.__name__]
        before = vars(module).get(name)
        # A newer cloudpickle has it in its other module.
        if before is None:
            return
        extended = self._setting_state(before) if name == _SET_STATE else self._creating(before)
        # Pickles name this function, so it has to be found where the original was.
        for attribute in ("__module__", "__name__", "__qualname__", "__doc__"):
            setattr(extended, attribute, getattr(before, attribute))
        setattr(module, name, extended)

    def _setting_state(self, before: Callable[..., Any]) -> Callable[..., Any]:
        files, add = self._files, self._add

        def _function_setstate(obj: FunctionType, state: Any) -> Any:
            result = before(obj, state)
            if obj.__code__.co_filename not in files:
                add(obj)
            return result

        return _function_setstate

    def _creating(self, before: Callable[..., Any]) -> Callable[..., Any]:
        files, add = self._files, self._add

        def _create_function(*arguments: Any, **options: Any) -> Any:
            function = before(*arguments, **options)
            if function.__code__.co_filename not in files:
                add(function)
            return function

        return _create_function

    def _add(self, function: FunctionType) -> None:
        file = function.__code__.co_filename
        self._on_code(file, str(function.__module__ or ""))
        # Only now, since until then other threads have to wait as well.
        self._files.add(file)
