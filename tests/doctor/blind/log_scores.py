"""Scores the first cause of logs with several errors that the rules were not written from.

Each log has the lines of an issue that matter, some of them completed from its title, and its first cause as a part of a line:
labelled from what the issue concludes before any rule was tried on it.  Don't change a rule because of this set.
`python -m tests.doctor.blind.log_scores` prints each log that isn't right.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from attrs import frozen
from eagleray.doctor.diagnosing import diagnose
from eagleray.doctor.logs.files import list_logs
from eagleray.doctor.model import Diagnosis
from eagleray.doctor.ranking import UNKNOWN
from eagleray.doctor.rule_files import own_rules

LOGS = Path(__file__).with_name("logs.json")
NEWER_LOGS = Path(__file__).with_name("newer_logs.json")
# Rebuilt from the shape of threads from December 2025 to September 2026, when the ranking was complete; details are made up.
LATEST_LOGS = Path(__file__).with_name("latest_logs.json")


@frozen
class LogScores:
    """Counts of logs: all, those with a named cause, those whose first cause is right, those with only a named
    consequence, and unnamed ones whose sentence has the line of the cause.
    """

    logs: int
    named: int
    right: int
    secondary: int
    listed: int
    wrong: tuple[str, ...]

    def sentence(self) -> str:
        """As in docs/doctor.md."""
        return (
            f"of {self.logs} logs, {self.named} have a named cause, and {self.right} of these are the first one"
            f" (precision {self.right}/{self.named}, recall {self.right}/{self.logs}); of {self.secondary} only a"
            f" consequence is named; in {self.listed} the sentence has the line of the cause, which no rule explains"
        )


def log_scores(logs: Path = LOGS) -> LogScores:
    named = right = secondary = listed = 0
    wrong = []
    # Where nothing else is named, a consequence comes first.
    following = {rule.id for rule in own_rules() if rule.follows}
    rows = json.loads(logs.read_text("utf-8"))
    for row in rows:
        found = _diagnosis(row["lines"])
        errors = [cause for cause in found.causes if cause.severity == "error"]
        # An exception that no rule explains is the first of the unknown errors.
        is_unknown = bool(errors) and errors[0].id == UNKNOWN
        causes = [] if is_unknown else errors
        named += bool(causes)
        secondary += bool(causes) and causes[0].id in following
        if causes and any(row["cause"] in item.text for item in causes[0].evidence):
            right += 1
        elif not causes and row["cause"] in found.sentence:
            listed += 1
        else:
            shown = [cause.id for cause in causes] or [item.text for item in found.unknown]
            wrong.append(f"{row['source']}: {shown}")
    return LogScores(len(rows), named, right, secondary, listed, tuple(wrong))


def _diagnosis(lines: list[str]) -> Diagnosis:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.log"
        path.write_text("\n".join(lines) + "\n", "utf-8")
        files, _ = list_logs([path])
        return diagnose(files, own_rules())


if __name__ == "__main__":
    for path in (LOGS, NEWER_LOGS, LATEST_LOGS):
        result = log_scores(path)
        print("\n".join(result.wrong))
        print(result.sentence())
