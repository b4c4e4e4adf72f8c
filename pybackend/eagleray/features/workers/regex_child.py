"""The process in which a user's regular expression runs: some need time without end, and only a process can be ended.

Started by `log_search`.  Standard input: one line of JSON (`pattern`, `ignore_case`, `most`,
`width`), then the text.  Standard output: the indexes of the first `most` lines that fit, as JSON.
"""

from __future__ import annotations

import json
import re
import sys


def main() -> None:
    asked, _, text = sys.stdin.buffer.read().partition(b"\n")
    said = json.loads(asked)
    pattern = re.compile(said["pattern"], re.IGNORECASE if said["ignore_case"] else 0)
    found: list[int] = []
    for index, line in enumerate(text.decode("utf-8", "replace").split("\n")):
        if pattern.search(line[: said["width"]]):
            found.append(index)
            if len(found) >= said["most"]:
                break
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
