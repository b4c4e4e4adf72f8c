"""Configurations in Hydra's form: verl's and RLinf's groups, and NeMo RL's and AReaL's single files."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, OmegaConf, open_dict

_DECORATOR = re.compile(r"@hydra\.main\((?P<arguments>[^)]*)\)")
_PACKAGE = re.compile(r"pkg://([\w.]+)")
_YAML = re.compile(r"[\"']([\w./-]+\.ya?ml)[\"']")
_OPTION = {
    "--config-path": "path",
    "-cp": "path",
    "--config-name": "name",
    "-cn": "name",
    "--config-dir": "dir",
    "-cd": "dir",
}
# Resolvers that a configuration may name; their values do not matter here.
_RESOLVERS = ("mul", "div", "max", "add", "sub", "multiply", "divide", "torch.dtype", "eval")


def problem(arguments: Sequence[str], cwd: Path, checkout: Path) -> str:
    """Returns Hydra's error for the arguments of a `@hydra.main` program; "" for nothing."""
    program, rest = _program(arguments, cwd, checkout)
    if program is None:
        raise LookupError("the program is not in the checkout")
    options, overrides, waiting = _options(rest)
    if waiting:
        return f"{waiting} has no value"
    folder, name = _main(program)
    name = options.get("name", name)
    if "path" in options:
        folder = options["path"]
    if not name:
        raise LookupError("the program names no configuration")
    config = Path(folder) if Path(folder).is_absolute() else program.parent / folder
    if not config.is_dir():
        raise LookupError(f"there is no folder {config}")
    unknown = [word for word in rest if word[:1] == "-" and word.partition("=")[0] not in _OPTION]
    if unknown:
        return f"unrecognized arguments: {' '.join(unknown)}"
    return _applied(str(config), name, [*_search_path(config, name, checkout), *overrides])


def _search_path(config: Path, name: str, checkout: Path) -> list[str]:
    """The packages of the checkout in which the configuration looks, as folders: they are not installed."""
    file = config / f"{name.removesuffix('.yaml')}.yaml"
    packages = _PACKAGE.findall(file.read_text("utf-8", "replace")) if file.is_file() else []
    folders = [checkout / package.replace(".", "/") for package in packages]
    found = ",".join(f"file://{folder}" for folder in folders if folder.is_dir())
    return [f"hydra.searchpath=[{found}]"] if found else []


def yaml_problem(arguments: Sequence[str], cwd: Path, checkout: Path) -> str:
    """Returns the problem of `--config FILE` and overrides; the file may inherit from others by `defaults`."""
    file, overrides = _named(arguments, cwd)
    if file is None:
        program, rest = _program(arguments, cwd, checkout)
        file, overrides = _default(program) if program else None, list(rest)
    if file is None:
        raise LookupError("no configuration is named")
    if not file.is_file():
        raise LookupError(f"there is no file {file}")
    try:
        _apply(_loaded(file), overrides)
    except Exception as error:
        return _short(error)
    return ""


def _named(arguments: Sequence[str], cwd: Path) -> tuple[Path | None, list[str]]:
    """The file that `--config` names, and what comes after it."""
    for at, word in enumerate(arguments):
        if word == "--config" and at + 1 < len(arguments):
            return cwd / arguments[at + 1], list(arguments[at + 2 :])
        if word.startswith("--config="):
            return cwd / word.partition("=")[2], list(arguments[at + 1 :])
    return None, []


def _default(program: Path) -> Path | None:
    """The configuration that a program loads when none is named: the first one in its text that exists."""
    named = _YAML.findall(program.read_text("utf-8", "replace"))
    files = (folder / name for name in named for folder in (program.parent, *_beside(program)))
    return next((file for file in files if file.is_file()), None)


def _beside(program: Path) -> tuple[Path, Path]:
    return program.parent / "configs", program.parent / "config"


def _applied(folder: str, name: str, overrides: Sequence[str]) -> str:
    """Applies the overrides to the composed defaults; composes as a whole if that fails, as for another group."""
    special = [word for word in overrides if word.startswith(("hydra.searchpath", "hydra/"))]
    try:
        base = _base(folder, name, tuple(special))
        _apply(base, [word for word in overrides if not word.lstrip("+~").startswith("hydra")])
    except Exception:
        try:
            _composed(folder, name, overrides)
        except Exception as error:
            return _short(error)
    return ""


def _apply(base: DictConfig, overrides: Sequence[str]) -> None:
    parsed = OverridesParser.create().parse_overrides(list(overrides))
    config = copy.deepcopy(base)
    OmegaConf.set_struct(config, True)
    ConfigLoaderImpl._apply_overrides_to_config(parsed, config)


@lru_cache(maxsize=64)
def _base(folder: str, name: str, special: tuple[str, ...]) -> DictConfig:
    return _composed(folder, name, special)


def _composed(folder: str, name: str, overrides: Sequence[str]) -> DictConfig:
    for resolver in _RESOLVERS:
        if not OmegaConf.has_resolver(resolver):
            OmegaConf.register_new_resolver(resolver, lambda *values: values[0])
    GlobalHydra.instance().clear()
    with initialize_config_dir(folder, version_base=None):
        return compose(name.removesuffix(".yaml"), overrides=list(overrides))


@lru_cache(maxsize=256)
def _loaded(file: Path) -> DictConfig:
    """A YAML file with those that it inherits from."""
    own: Any = OmegaConf.load(file)
    if not isinstance(own, DictConfig):
        raise LookupError(f"{file} holds no mapping")
    with open_dict(own):
        parents = own.pop("defaults", [])
    parents = [parents] if isinstance(parents, str) else list(parents or [])
    merged = [
        _loaded((file.parent / str(parent)).resolve())
        for parent in parents
        if isinstance(parent, str) and parent != "_self_"
    ]
    found = OmegaConf.merge(*merged, own)
    assert isinstance(found, DictConfig)
    return found


def _program(
    arguments: Sequence[str], cwd: Path, checkout: Path
) -> tuple[Path | None, Sequence[str]]:
    """The Python file that a call runs, and the arguments behind it."""
    for at, word in enumerate(arguments):
        if word == "-m" and at + 1 < len(arguments):
            module = arguments[at + 1].replace(".", "/")
            tried = [cwd / f"{module}.py", checkout / f"{module}.py"]
            tried += [cwd / module / "__main__.py", checkout / module / "__main__.py"]
            found = next((file for file in tried if file.is_file()), None)
            if found is None and arguments[at + 1] in ("torch.distributed.run", "coverage"):
                continue
            return found, arguments[at + 2 :]
        if word.endswith(".py"):
            tried = [cwd / word, checkout / word]
            return next((one for one in tried if one.is_file()), None), arguments[at + 1 :]
    return None, ()


def _options(arguments: Sequence[str]) -> tuple[dict[str, str], list[str], str]:
    """The options of Hydra, the overrides, and the option whose value is missing at the end."""
    options: dict[str, str] = {}
    overrides: list[str] = []
    waiting = ""
    for word in arguments:
        name, equals, value = word.partition("=")
        if waiting:
            options[_OPTION[waiting]], waiting = word, ""
        elif name in _OPTION and equals:
            options[_OPTION[name]] = value
        elif word in _OPTION:
            waiting = word
        elif not word.startswith("--"):
            overrides.append(word)
    return options, overrides, waiting


def _main(program: Path) -> tuple[str, str]:
    """The configuration that the decorator of the program names: its folder and name."""
    found = _DECORATOR.search(program.read_text("utf-8", "replace"))
    if not found:
        raise LookupError(f"{program.name} is no @hydra.main program")
    named = dict(re.findall(r"(config_\w+)\s*=\s*[\"']([^\"']*)[\"']", found["arguments"]))
    return named.get("config_path", "."), named.get("config_name", "")


def _short(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {' '.join(lines)[:300]}"
