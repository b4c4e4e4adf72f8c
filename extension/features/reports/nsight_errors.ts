/** Why a report is not opened in Nsight Systems. */

import { EaglerayError } from "../../common/errors";

export function badSetting(path: string): EaglerayError {
  return new EaglerayError(
    "no-nsight",
    `The setting eagleray.profiling.nsightSystems names ${path}, which is no program.`,
    "Name nsys-ui of your installation there, or leave it empty.",
  );
}

export function notFound(): EaglerayError {
  return new EaglerayError(
    "no-nsight",
    "Nsight Systems was not found on the machine where this window’s files are.",
    "Copy the file to a computer that has it, or name its nsys-ui in the setting eagleray.profiling.nsightSystems.",
  );
}

export function noScreen(): EaglerayError {
  return new EaglerayError(
    "no-screen",
    "The machine where this window’s files are has no screen for Nsight Systems.",
    "Copy the file to your own computer and open it there; its version must not be older than that of nsys.",
  );
}

export function untrusted(): EaglerayError {
  return new EaglerayError(
    "untrusted-workspace",
    "Nothing of a workspace that is not trusted is opened in other programs.",
    "Trust the workspace, or open the file by hand.",
  );
}

export function failed(program: string, how: string, said: string): EaglerayError {
  return new EaglerayError(
    "nsight-failed",
    `${program} ${how}.`,
    "The log has what it said; a report of a newer nsys needs a newer Nsight Systems.",
    said,
  );
}
