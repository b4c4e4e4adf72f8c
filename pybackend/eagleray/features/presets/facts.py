"""All that is read before a debug run is proposed: the scripts, the training line, the framework; read once, then a value."""

from __future__ import annotations

from dataclasses import dataclass

from eagleray.features.presets.launch import Launch
from eagleray.features.presets.recognise import Recognised
from eagleray.features.presets.script import Assignment, Script
from eagleray.features.presets.script_tree import ScriptNode
from eagleray.features.presets.verifying import CheckoutKeys


@dataclass(frozen=True)
class TrainingLine:
    """A line that starts a trainer, and its script."""

    node: ScriptNode
    launch: Launch


@dataclass(frozen=True)
class Facts:
    """`script` is the one with the training line, by the name `script_word`; None where the command starts Python.

    `root` is the script of the command, which may start that one.  `lines` are all lines that start this trainer, and
    `other_lines` those that start another one of the framework.  `in_variable` is the variable of the environment that
    holds the training line (`COMMAND` of `ray.sub`).  `config` is the text of the configuration file that the line
    names.  `stamp` makes names of experiments that were not used before.  `remark` says what a program does that is
    not a trainer.  `keys` finds keys in the user's checkout.
    """

    launch: Launch | None
    recognised: Recognised | None
    script: Script | None = None
    script_word: str = ""
    in_variable: str = ""
    config: str = ""
    stamp: str = ""
    root: ScriptNode | None = None
    lines: tuple[TrainingLine, ...] = ()
    other_lines: tuple[TrainingLine, ...] = ()
    remark: str = ""
    keys: CheckoutKeys | None = None

    @property
    def launches(self) -> tuple[Launch, ...]:
        """All lines that start this trainer, the main one first."""
        others = (line.launch for line in self.lines if line.launch is not self.launch)
        return (*([self.launch] if self.launch else []), *others)

    def assigned(self, name: str) -> tuple[Assignment, str] | None:
        """The assignment of a variable that the training line gets, and the name of its script."""
        main = next((line for line in self.lines if line.launch is self.launch), None)
        if self.script is None or self.root is None or main is None:
            found = self.script.assigned(name) if self.script else None
            return (found, self.script_word) if found else None
        for node in reversed(self.root.path_to(main.node)):
            script = self.script if node is main.node else node.script
            if found := script.assigned(name):
                return found, node.name
        found = self.script.assigned(name)
        return (found, self.script_word) if found else None
