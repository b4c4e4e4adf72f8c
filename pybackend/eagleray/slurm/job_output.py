"""Where a SLURM job writes: the fields of `scontrol show job`, and the files that they and the job's script name."""

from __future__ import annotations

import glob
import re
import shlex
from collections.abc import Iterator, Mapping

# Parts that no file name of one process has: the node, task and step that writes it.
_OF_PROCESS = "bNnst"
_CONVERSION = re.compile(r"%(?P<width>\d{0,2})(?P<letter>[A-Za-z%])")
_VARIABLE = re.compile(r"\$(?:\{(?P<braced>\w+)\}|(?P<plain>\w+))")
_OPTIONS = ("--output", "--error", "-o", "-e")
# More than a script has.
_MOST_PATTERNS = 50


def fields(text: str) -> dict[str, str]:
    """The pairs `Name=value` of `scontrol -o show job`; a value ends where the next name begins."""
    pairs = re.findall(r"(?:^|\s)([A-Z][A-Za-z/:_]*)=(.*?)(?=\s+[A-Z][A-Za-z/:_]*=|\s*$)", text)
    return dict(pairs)


def output_globs(job: Mapping[str, str], script: str = "") -> list[str]:
    """Shell patterns for the files with the output of a job and of its steps: absolute paths, each once.

    `script` is the job's batch script, of which the lines with `srun` are read: steps have files of their own.
    """
    written = [job.get("StdOut", ""), job.get("StdErr", ""), *_of_steps(script, job)]
    globs = [_glob(path, job) for path in written if path and not path.startswith("/dev/")]
    return list(dict.fromkeys(path for path in globs if path))[:_MOST_PATTERNS]


def _of_steps(script: str, job: Mapping[str, str]) -> Iterator[str]:
    for line in script.replace("\\\n", " ").splitlines():
        if not re.match(r"\s*(?:[\w./]*/)?srun\s", line):
            continue
        try:
            tokens = shlex.split(line, comments=True)
        except ValueError:
            continue
        for token, after in zip(tokens, [*tokens[1:], ""], strict=True):
            name, equals, value = token.partition("=")
            if token in _OPTIONS:
                yield _with_variables(after, job)
            elif equals and name in _OPTIONS[:2]:
                yield _with_variables(value, job)


def _with_variables(path: str, job: Mapping[str, str]) -> str:
    """`path` with the values of SLURM's variables; "" where another one says which folder it is."""
    values = {
        "SLURM_JOB_ID": job.get("JobId", ""),
        "SLURM_JOBID": job.get("JobId", ""),
        "SLURM_JOB_NAME": job.get("JobName", ""),
        "SLURM_SUBMIT_DIR": job.get("WorkDir", ""),
    }
    names = [match["braced"] or match["plain"] for match in _VARIABLE.finditer(path)]
    if any(name not in values for name in names) or "`" in path or "$(" in path:
        return ""
    return _VARIABLE.sub(lambda match: values[match["braced"] or match["plain"]], path)


def _glob(path: str, job: Mapping[str, str]) -> str:
    """A path with SLURM's conversions (sbatch(1), "filename pattern") as a shell pattern; "" for one without a folder."""
    parts = []
    end = 0
    for match in _CONVERSION.finditer(path):
        parts += [glob.escape(path[end : match.start()]), _converted(match, job)]
        end = match.end()
    made = "".join([*parts, glob.escape(path[end:])])
    folder = job.get("WorkDir", "")
    if made and not made.startswith("/"):
        made = f"{glob.escape(folder)}/{made}" if folder.startswith("/") else ""
    return made


def _converted(match: re.Match[str], job: Mapping[str, str]) -> str:
    letter, width = match["letter"], int(match["width"] or 0)
    if letter == "%":
        return "%"
    if letter == "J":
        return f"{glob.escape(job.get('JobId', ''))}*"
    values = {
        "A": job.get("ArrayJobId") or job.get("JobId", ""),
        "a": job.get("ArrayTaskId", ""),
        "j": job.get("JobId", ""),
        "u": job.get("UserId", "").partition("(")[0],
        "x": job.get("JobName", ""),
    }
    value = values.get(letter, "")
    if letter in _OF_PROCESS or not value:
        return "*"
    return glob.escape(value.zfill(width) if value.isdigit() else value)
