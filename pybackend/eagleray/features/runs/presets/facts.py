"""What is known before a debug run is proposed: the script, its training line, the framework; read once, then a value."""

from __future__ import annotations

from dataclasses import dataclass

from eagleray.features.runs.presets.launch import Launch
from eagleray.features.runs.presets.recognise import Recognised
from eagleray.features.runs.presets.script import Script
from eagleray.features.runs.presets.verifying import CheckoutKeys


@dataclass(frozen=True)
class Facts:
    """`script` is that which the command runs, by the word `script_word`; None where it starts Python itself.

    `in_variable` is the variable of the environment that holds the training line (`COMMAND` of `ray.sub`).
    `config` is the text of the configuration file that the line names.  `stamp` makes names of experiments
    that were not used before.  `keys` finds keys in the user's checkout, for a version that no table was read from.
    """

    launch: Launch | None
    recognised: Recognised | None
    script: Script | None = None
    script_word: str = ""
    in_variable: str = ""
    config: str = ""
    stamp: str = ""
    keys: CheckoutKeys | None = None
