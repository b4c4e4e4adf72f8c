"""Calls of nsys, each with a limit: it may hang, and what it returns says nothing of what came out."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess

from .installations import parse_version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

START_S = 60.0
# The report is written within `stop`, and may have many gigabytes.
STOP_S = 1800.0
READ_S = 600.0
_GENERATED = re.compile(r"^\s*(/\S.*\.nsys-rep)\s*$", re.MULTILINE)
_NO_SUCH_KIND = re.compile(r"unsupported|illegal|invalid|unrecogni[sz]ed", re.IGNORECASE)


class NsysError(Exception):
    """nsys did not do it; the text says why in its own words."""


class NsysProgram:
    """One program, called with an environment in which nothing of the run is."""

    def __init__(self, program: str, environ: Mapping[str, str]) -> None:
        self.program = program
        self._environ = {
            name: value
            for name, value in environ.items()
            if not name.startswith(("EAGLERAY_", "LD_PRELOAD"))
        }

    def version(self) -> str:
        """Such as 2022.4.2.1; "" if it does not say."""
        try:
            said = self.call(["--version"], START_S)
        except NsysError:
            return ""
        return parse_version(said)

    def call(self, words: Sequence[str], limit_s: float) -> str:
        """What it prints; raises Refused."""
        try:
            with subprocess.Popen(
                [self.program, *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=self._environ,
                start_new_session=True,
            ) as process:
                said = _heard(process, limit_s)
        except subprocess.TimeoutExpired as error:
            raise NsysError(f"nsys {words[0]} did not answer within {limit_s:g} s") from error
        except OSError as error:
            raise NsysError(f"nsys cannot be started: {error.strerror}") from error
        if process.returncode != 0:
            raise NsysError(error_line(said) or f"nsys {words[0]} ended with {process.returncode}")
        return said

    def export(self, report: str, output: str, kind: str, limit_s: float) -> None:
        """Writes something of a report, or nothing; raises Refused."""
        words = [f"--type={kind}", "--force-overwrite=true", f"--output={output}", report]
        self.call(["export", *words], limit_s)

    def can_read(self, report: str, beside: str) -> str:
        """ "" for a report that nsys itself can read, else why not; `beside` is a folder for what comes of it."""
        why = ""
        # The first one is the cheapest; not every version has it.
        for kind in ("info", "sqlite"):
            output = os.path.join(beside, f"read.{kind}")
            try:
                self.export(report, output, kind, READ_S)
                if os.path.getsize(output) > 0:
                    return ""
                why = "nothing could be read of it"
            except NsysError as error:
                why = str(error)
                if not _NO_SUCH_KIND.search(why):
                    return why
            except OSError:
                why = "nothing could be read of it"
            finally:
                if os.path.exists(output):
                    os.unlink(output)
        return why


def _heard(process: subprocess.Popen[bytes], limit_s: float) -> str:
    """What it prints until its end; raises TimeoutExpired, and then nothing of it is left."""
    try:
        return process.communicate(timeout=limit_s)[0].decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        # Its helpers, too, which would work on.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        raise


def generated_reports(said: str) -> list[str]:
    """The reports that nsys says it has written."""
    return _GENERATED.findall(said.replace("\r", "\n"))


def error_line(said: str) -> str:
    """The first line of what nsys says when it refuses; after it come pages of help."""
    lines = (line.strip() for line in said.replace("\r", "\n").splitlines())
    return next((line for line in lines if line and not line.startswith("[")), "")[:300]
