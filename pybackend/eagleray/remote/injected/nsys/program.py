"""Runs nsys, each call with a limit: nsys may hang, and its exit code doesn't show whether it has written anything.

Both were measured with 2022.4: it hung where its importer was missing, and ended with 0.
"""

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
# `nsys stop` writes the report, which may have many gigabytes.
STOP_S = 1800.0
READ_S = 600.0
_GENERATED = re.compile(r"^\s*(/\S.*\.nsys-rep)\s*$", re.MULTILINE)
_NO_SUCH_KIND = re.compile(r"unsupported|illegal|invalid|unrecogni[sz]ed", re.IGNORECASE)


class NsysError(Exception):
    """A call of nsys failed; the text says why, as nsys prints it."""


class NsysProgram:
    """One nsys, called with an environment without the variables of the run."""

    def __init__(self, program: str, environ: Mapping[str, str]) -> None:
        self.program = program
        self._environ = {
            name: value
            for name, value in environ.items()
            if not name.startswith(("EAGLERAY_", "LD_PRELOAD"))
        }

    def version(self) -> str:
        """The version, such as 2022.4.2.1; "" if nsys doesn't print one."""
        try:
            output = self.call(["--version"], START_S)
        except NsysError:
            return ""
        return parse_version(output)

    def call(self, arguments: Sequence[str], limit_s: float) -> str:
        """Runs nsys with these arguments and returns its output; raises NsysError."""
        try:
            with subprocess.Popen(
                [self.program, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=self._environ,
                start_new_session=True,
            ) as process:
                output = _output(process, limit_s)
        except subprocess.TimeoutExpired as error:
            raise NsysError(f"nsys {arguments[0]} did not answer within {limit_s:g} s") from error
        except OSError as error:
            raise NsysError(f"nsys cannot be started: {error.strerror}") from error
        if process.returncode != 0:
            raise NsysError(
                error_line(output) or f"nsys {arguments[0]} ended with {process.returncode}"
            )
        return output

    def export(self, report: str, output: str, kind: str, limit_s: float) -> None:
        """Exports a report, which may write nothing; raises NsysError."""
        options = [f"--type={kind}", "--force-overwrite=true", f"--output={output}", report]
        self.call(["export", *options], limit_s)

    def can_read(self, report: str, folder: str) -> str:
        """Why nsys can't read a report, "" if it can; `folder` is for temporary files."""
        why = ""
        # The first kind is the cheapest; not every version has it.
        for kind in ("info", "sqlite"):
            output = os.path.join(folder, f"read.{kind}")
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


def _output(process: subprocess.Popen[bytes], limit_s: float) -> str:
    """The output until the process ends; raises TimeoutExpired after killing it with its helpers."""
    try:
        return process.communicate(timeout=limit_s)[0].decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        # Its helpers, too, which would continue.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        raise


def generated_reports(output: str) -> list[str]:
    """The paths of reports in the output of nsys."""
    return _GENERATED.findall(output.replace("\r", "\n"))


def error_line(output: str) -> str:
    """The first line of an error of nsys, which pages of help follow."""
    lines = (line.strip() for line in output.replace("\r", "\n").splitlines())
    return next((line for line in lines if line and not line.startswith("[")), "")[:300]
