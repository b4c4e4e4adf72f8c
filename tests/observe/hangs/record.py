"""Records the samples of all scenarios for tests/observe/hangs/test_rules.py: `python -m tests.observe.hangs.record [SCENARIO...]`."""

import json
import re
import sys
import tempfile
from pathlib import Path

from eagleray.remote.inspecting.process_answers import raw_reading
from eagleray.remote.sampling import sample_codec
from eagleray.remote.sampling.node_sampler import sample
from eagleray.remote.sampling.pyspy_dumps import Tools
from eagleray.tools.pyspy import find_program

from tests.observe.hangs.ranks import FROM_INSIDE, JOINING, SCENARIOS, hanging

RECORDED = Path(__file__).parent / "recorded"
REPOSITORY = str(Path(__file__).parents[3])
# The name of the repository's folder in a recording, since it differs between machines, as Python's does.
PLACE = "<repository>"
PAUSE_S = 1.0


def record(scenario: str) -> None:
    with tempfile.TemporaryDirectory() as folder, hanging(scenario, Path(folder)) as pids:
        taken = sample(pids[1:], Tools(py_spy=find_program()), pause_s=PAUSE_S)
        # As a picture would: native code that holds the GIL keeps a process from answering.
        asked = pids if scenario in FROM_INSIDE else []
        readings = {str(rank): raw_reading(pid) for rank, pid in enumerate(asked)}
    write(RECORDED / f"{scenario}.json", sample_codec.dump([taken]))
    if readings:
        write(RECORDED / "inside" / f"{scenario}.json", readings)


def write(path: Path, value: object) -> None:
    text = json.dumps(value, separators=(",", ":"))
    text = re.sub(
        r'"[^"]*/lib/python3', '"/opt/python/lib/python3', text.replace(REPOSITORY, PLACE)
    )
    path.parent.mkdir(exist_ok=True)
    path.write_text(text + "\n")


if __name__ == "__main__":
    for name in sys.argv[1:] or (*SCENARIOS, *JOINING):
        print(name, flush=True)
        record(name)
