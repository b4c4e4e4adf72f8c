"""Hook into pickling: a function keeps the name of its file, by which the process that gets it finds its breakpoints.

cloudpickle 3.1.3 and newer replace that name, so that pickles don't depend on it (cloudpipe/cloudpickle#560).  joblib has
used that package since 1.6.
"""

from __future__ import annotations

from types import CodeType

from ..unpickling import CLOUDPICKLES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    from ..import_hook import ImportHook

_REPLACED = "<dynamic-code>"


def keep_file_names(import_hook: ImportHook) -> None:
    for package in CLOUDPICKLES:
        import_hook.after(f"{package}.cloudpickle", _extend)


def _extend(module: ModuleType) -> None:
    table = getattr(module.CloudPickler, "_dispatch_table", {})
    before = table.get(CodeType)
    if before is not None:
        table[CodeType] = _reducing(before)


def _reducing(before: Callable[[CodeType], Any]) -> Callable[[CodeType], Any]:
    def _code_reduce(code: CodeType) -> Any:
        make, arguments = before(code)
        # A new string, as cloudpickle makes it: one that is interned would be pickled otherwise in some processes.
        name = "".join(code.co_filename)
        return make, tuple(name if _is_replaced(argument) else argument for argument in arguments)

    return _code_reduce


def _is_replaced(argument: object) -> bool:
    # Python with -bb refuses to compare bytes with text.
    return type(argument) is str and argument == _REPLACED
