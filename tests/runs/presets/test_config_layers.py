"""The composed configuration has exactly the keys that Hydra composes."""

from __future__ import annotations

from pathlib import Path

import pytest
from eagleray.runs.presets.checkout.config_layers import find, hydra_layers
from eagleray.runs.presets.checkout.python_source import HydraMain
from eagleray.runs.presets.checkout_files import Files
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig

CONFIG = {
    "main.yaml": """\
defaults:
  - engine: small
  - actor@model.actor: ${engine}_actor
  - optional logging: none
  - extra
  - _self_
model:
  timeout: 600
trainer:
  steps: null
""",
    "child.yaml": "defaults: [main, {override engine: large}]\nown: 1\n",
    "extra.yaml": "# @package _global_\nextra: {key: 1}\n",
    "engine/small.yaml": "size: 1\n",
    "engine/large.yaml": "size: 2\nlarge_only: 3\n",
    "engine/shared/net.yaml": "ports: [1, 2]\n",
    "optim/adam.yaml": "lr: 1\n",
    "actor/base.yaml": "defaults: [/engine/shared/net@network, _self_]\nname: x\n",
    "actor/small_actor.yaml": "defaults: [../optim@optim: adam, base, _self_]\ndtype: y\n",
    "actor/large_actor.yaml": "defaults: [base]\nshards: 4\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in CONFIG.items():
        file = tmp_path / "config" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path


def keys(config: DictConfig, above: str = "") -> set[str]:
    result = set()
    for key, value in config.items_ex(resolve=False):
        result.add(f"{above}{key}")
        if isinstance(value, DictConfig):
            result |= keys(value, f"{above}{key}.")
    return result


EVERY_KEY = {
    f"{above}{key}"
    for above in ("", "engine.", "model.", "model.actor.", "model.actor.optim.", "extra.")
    for key in ("engine", "size", "large_only", "model", "actor", "timeout", "optim", "lr", "name")
} | {"model.actor.network", "model.actor.network.ports", "model.actor.shards", "own", "extra.key"}


@pytest.mark.parametrize(
    ("name", "overrides"),
    [
        ("main", ()),
        ("main", ("engine=large",)),
        ("main", ("engine=large", "actor@model.actor=small_actor")),
        ("main", ("+optim=adam",)),
        ("child", ()),
    ],
)
def test_keys_equal_the_keys_of_hydra(folder: Path, name: str, overrides: tuple[str, ...]) -> None:
    files = Files([folder])
    arguments = ("--config-name", name, *overrides)
    layers = hydra_layers(folder / "train.py", HydraMain("config", "other"), arguments, files)
    with initialize_config_dir(str(folder / "config"), version_base=None):
        real = keys(compose(name, overrides=list(overrides)))
    requested = EVERY_KEY | real
    assert {key for key in requested if find(layers, key, files)} == real


def test_last_layer_defines_the_key(folder: Path) -> None:
    files = Files([folder])
    layers = hydra_layers(folder / "train.py", HydraMain("config", "main"), (), files)
    places = [str(find(layers, key, files)) for key in ("model.timeout", "model.actor.optim.lr")]
    assert places == ["config/main.yaml:8", "config/optim/adam.yaml:1"]


def test_search_path_and_variables_in_paths_are_followed(folder: Path) -> None:
    (folder / "recipe" / "config").mkdir(parents=True)
    (folder / "recipe" / "config" / "own.yaml").write_text(
        "hydra: {searchpath: ['file://${oc.env:X}/config']}\ndefaults: [main]\n"
    )
    files = Files([folder])
    for here in ("${HERE}", "$HERE", '$( cd "$(dirname "$0" )" && pwd )', "`pwd`"):
        arguments = (f"--config-path={here}/recipe/config/", "--config-name=own")
        layers = hydra_layers(folder / "train.py", HydraMain("", ""), arguments, files)
        assert find(layers, "trainer.steps", files)


def test_files_that_include_each_other_end(folder: Path) -> None:
    (folder / "config" / "main.yaml").write_text("defaults: [child, main]\nown: 1\n")
    files = Files([folder])
    layers = hydra_layers(folder / "train.py", HydraMain("config", "main"), (), files)
    assert find(layers, "own", files)
    assert len(layers) < 1000


def test_variable_in_the_name_resolves_to_an_existing_configuration(folder: Path) -> None:
    files, main = Files([folder]), HydraMain("config", "other")
    arguments = ("--config-name", "${CONFIG_NAME}")
    hints = ("bash", "run.sh", "child")
    assert find(hydra_layers(folder / "train.py", main, arguments, files, hints), "own", files)
    assert hydra_layers(folder / "train.py", main, arguments, files, ("bash",)) == []
