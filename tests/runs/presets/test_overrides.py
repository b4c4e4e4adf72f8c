"""The laws that debug runs rest upon, held by the real Hydra and the real argparse."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.runs.presets.overrides import (
    argparse_arguments,
    hydra_override,
    hydra_quoted,
    hydra_text,
)
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf


def hydra(config: dict[str, Any], *overrides: str) -> Any:
    """The configuration after the overrides, as Hydra makes it for a program, with every value resolved."""
    made = OmegaConf.create(config)
    OmegaConf.set_struct(made, True)
    parsed = OverridesParser.create().parse_overrides(overrides=list(overrides))
    ConfigLoaderImpl._apply_overrides_to_config(overrides=parsed, cfg=made)
    return OmegaConf.to_container(made, resolve=True)


def test_last_override_of_a_key_counts() -> None:
    assert hydra({"a": 0}, "a=1", hydra_override("a", "2")) == {"a": 2}
    assert hydra({"a": 0}, "+b=1", hydra_override("b", "2")) == {"a": 0, "b": 2}
    assert hydra({"a": 0}, "++a=1", "a=3") == {"a": 3}


def test_two_plus_signs_set_existing_and_new_keys() -> None:
    assert hydra({"a": 0}, hydra_override("a", "1"), hydra_override("b.c.d", "2")) == {
        "a": 1,
        "b": {"c": {"d": 2}},
    }
    with pytest.raises(HydraException):
        hydra({"a": 0}, "b=1")
    with pytest.raises(HydraException):
        hydra({"a": 0}, "+a=1")


@pytest.mark.parametrize(
    ("value", "read"),
    [("-1", -1), ("false", False), ("null", None), ("[console]", ["console"]), ("0", 0)],
)
def test_constants_of_the_tables_are_parsed(value: str, read: Any) -> None:
    assert hydra({"a": 5}, hydra_override("a", value)) == {"a": read}


def test_variable_of_the_workers_is_a_text() -> None:
    word = hydra_override("ray_init.runtime_env.env_vars.N", hydra_quoted("1"))
    assert hydra({"ray_init": {"num_cpus": None}}, word)["ray_init"]["runtime_env"] == {
        "env_vars": {"N": "1"}
    }


def test_list_entry_is_reached_by_its_number() -> None:
    config = {"actor": {"spec": [{"env_vars": {}}]}, "rollout": {"spec": "${actor.spec}"}}
    made = hydra(config, hydra_override("actor.spec.0.env_vars.N", hydra_quoted("a=b,c")))
    assert made["rollout"]["spec"] == [{"env_vars": {"N": "a=b,c"}}]
    with pytest.raises(HydraException):
        hydra(config, "++actor.spec[0].env_vars.N=1")


PRINTABLE = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]) | st.just(" "))
ODD = st.text(st.sampled_from("ab1 =,'\"\\{}[]():$#~+-/.*?<>|&"), max_size=20)


@given(PRINTABLE | ODD | st.sampled_from(["null", "True", "on", "1", "1e3", "NaN", "a\\", "\\'"]))
def test_text_round_trips(text: str) -> None:
    if "${" in text:
        with pytest.raises(EaglerayError, match="not valid for a short test run"):
            hydra_text(text)
    else:
        assert hydra({"a": 0}, hydra_override("a", hydra_text(text))) == {"a": text}


@pytest.mark.parametrize("text", ["a\nb", "\x1b[0m", "${oc.env:HOME}", "a\0"])
def test_text_that_hydra_cannot_read_is_refused(text: str) -> None:
    with pytest.raises(EaglerayError, match="not valid for a short test run"):
        hydra_text(text)


def parsed(*arguments: str) -> argparse.Namespace:
    """By a parser that has dots in the names of its options."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--train.num_episodes", type=int, default=1)
    parser.add_argument("--train.num_episodes_more", type=int, default=1)
    parser.add_argument("--logger.wandb.key", type=str, default=None)
    parser.add_argument("--ckpt.save_steps", type=int, default=5)
    parser.add_argument("--ckpt.load_enable", action="store_true")
    return parser.parse_args(arguments)


def test_options_with_dots_and_the_last_of_two() -> None:
    arguments = ["--train.num_episodes", "20", "--logger.wandb.key", "abc", "--ckpt.load_enable"]
    ours = [
        *argparse_arguments("--train.num_episodes", "1"),
        *argparse_arguments("--ckpt.save_steps", "-1"),
        *argparse_arguments("--logger.wandb.key", ""),
    ]
    made = vars(parsed(*arguments, *ours))
    assert made["train.num_episodes"] == 1
    assert made["train.num_episodes_more"] == 1
    assert made["ckpt.save_steps"] == -1
    assert made["logger.wandb.key"] == ""
    assert made["ckpt.load_enable"] is True


def test_end_of_the_options_is_not_a_value_of_an_option() -> None:
    with pytest.raises(EaglerayError, match="end of the options"):
        argparse_arguments("--logger.wandb.key", "--")


@given((PRINTABLE | ODD).filter(lambda value: value != "--"))
def test_any_value_of_an_option_comes_back(value: str) -> None:
    arguments = argparse_arguments("--logger.wandb.key", value)
    assert vars(parsed(*arguments))["logger.wandb.key"] == value


MAIN = """
import hydra
from omegaconf import OmegaConf
@hydra.main(config_path=".", config_name="config", version_base=None)
def main(config):
    print(OmegaConf.to_yaml(config))
main()
"""


def test_real_hydra_program_reads_the_overrides(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(MAIN)
    (tmp_path / "config.yaml").write_text("trainer:\n  total_epochs: 30\n  logger: [wandb]\n")
    arguments = [
        *("trainer.total_epochs=10", hydra_override("trainer.total_epochs", "1")),
        hydra_override("trainer.experiment_name", hydra_text("it's my run, a=b")),
        hydra_override("trainer.logger", "[console]"),
    ]
    command = [sys.executable, "main.py", "hydra.run.dir=out", *arguments]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert OmegaConf.to_container(OmegaConf.create(ran.stdout)) == {
        "trainer": {
            "total_epochs": 1,
            "logger": ["console"],
            "experiment_name": "it's my run, a=b",
        }
    }
