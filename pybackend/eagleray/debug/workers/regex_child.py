"""The child process of `log_search` that runs a user's regular expression, which may never end.

Standard input: one line of JSON (`pattern`, `ignore_case`, `most`, `width`), then the text.  Standard output: the
indexes of the first `most` lines that match, as JSON.
"""

from __future__ import annotations

import json
import re
import sys


def main() -> None:
    head, _, text = sys.stdin.buffer.read().partition(b"\n")
    request = json.loads(head)
    pattern = re.compile(request["pattern"], re.IGNORECASE if request["ignore_case"] else 0)
    matches: list[int] = []
    for index, line in enumerate(text.decode("utf-8", "replace").split("\n")):
        if pattern.search(line[: request["width"]]):
            matches.append(index)
            if len(matches) >= request["most"]:
                break
    sys.stdout.write(json.dumps(matches))


if __name__ == "__main__":
    main()
