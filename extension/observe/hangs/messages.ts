// Printed from pybackend/eagleray/observe/hangs/messages.py by `npm run messages`; do not edit.
import { request, type Nothing } from "../../common/wire";

export const PROCESSES = request<Nothing, CandidateProcesses>("eagleray/hangs/processes");
export const PICTURE = request<PictureTarget, Picture>("eagleray/hangs/picture");
export const SAVE = request<PictureToSave, Nothing>("eagleray/hangs/save");
export const OF_STACKS = request<GivenStacks, GivenPicture>("eagleray/hangs/ofStacks");
export const OPEN = request<PictureFile, Picture>("eagleray/hangs/open");
export const COMPARE = request<EarlierPicture, PictureChanges>("eagleray/hangs/compare");
export const OF_GROUP = request<PausedGroupName, Picture>("eagleray/hangs/ofGroup");
export const MARKDOWN = request<Picture, PictureText>("eagleray/hangs/markdown");

/** A saved picture by its path. */
export interface PictureFile {
  readonly path: string;
}

/** The inputs that may have stacks dumped by other tools: files and folders by their paths, or a text. */
export interface GivenStacks {
  readonly paths: readonly string[];
  readonly text: string;
}

/** A file that could not be read, below the archive that has it. */
export interface UnreadStacks {
  readonly name: string;
  readonly reason: string;
}

/** The picture of stacks that others have dumped. */
export interface GivenPicture {
  readonly picture: Picture;
  readonly unread: readonly UnreadStacks[];
}

/** A picture, and the file that is to have it. */
export interface PictureToSave {
  readonly path: string;
  readonly picture: Picture;
}

/** Compares `picture` with the earlier one in the file `path`. */
export interface EarlierPicture {
  readonly path: string;
  readonly picture: Picture;
}

/** A sentence for each set of ranks that has moved. */
export interface PictureChanges {
  readonly sentences: readonly string[];
}

/** A picture in Markdown, without secrets. */
export interface PictureText {
  readonly text: string;
}

/** A group in the list of paused workers. */
export interface PausedGroupName {
  readonly cluster: string;
  readonly title: string;
  readonly post_mortem: boolean;
}

/** A Python process of this user on this machine: its command without secrets, and its age in seconds. */
export interface CandidateProcess {
  readonly pid: number;
  readonly command: string;
  readonly age_s: number;
}

/** The processes that may be sampled, the newest first. */
export interface CandidateProcesses {
  readonly processes: readonly CandidateProcess[];
}

/**
 * The target of a picture; an empty field doesn't restrict it.
 *
 * `cluster` is the id of a cluster, `job_id` the id of a Ray job in it, `workers` the title of a group of workers in it
 * or patterns for their names, `run_id` the id of a run.  Without Ray these are `pids` of this machine, the steps of a
 * `slurm_job`, and processes of `hosts` that are reached through ssh: ranks, or those with the text `matching` in their
 * command line. `inside`: a thread in some of the processes reads exceptions, awaited tasks and collectives. `native`:
 * native frames of one process of each class are read, which stops it for a moment. `ras` is the address of NCCL's RAS,
 * as HOST:PORT, which alone is read.
 */
export interface PictureTarget {
  readonly cluster?: string;
  readonly job_id?: string;
  readonly run_id?: string;
  readonly pids?: readonly number[];
  readonly slurm_job?: string;
  readonly hosts?: readonly string[];
  readonly matching?: string;
  readonly inside?: boolean;
  readonly workers?: string;
  readonly native?: boolean;
  readonly ras?: string;
}

/**
 * A frame; `hidden` ones only wrap calls of the user's code, `users` are that code.
 *
 * `line` is 0 where lines don't tell ranks apart.
 */
export interface FrameRow {
  readonly function: string;
  readonly path: string;
  readonly line: number;
  readonly hidden: boolean;
  readonly users: boolean;
}

/**
 * Processes with the same stack, outermost frame first; `group` is their world, or what they have in common.
 *
 * Of threads besides the leading one `doing` is "", and `thread` has the names of several.
 */
export interface StackClass {
  readonly group: string;
  readonly ranks: string;
  readonly doing: string;
  readonly thread: string;
  readonly frames: readonly FrameRow[];
}

/** The last collectives of a process group that a rank has started and ended, by their numbers; `call` is the last. */
export interface CollectiveRow {
  readonly group: string;
  readonly started: number;
  readonly ended: number;
  readonly call: string;
}

/**
 * A GPU that a process uses, by its `number` on the node.
 *
 * `first` and `last` are the percent of time in which any process kept it busy at the first and at the last sample, and
 * `memory_mib` is what this process holds; -1 where nvidia-smi doesn't say it.
 */
export interface GpuRow {
  readonly number: number;
  readonly first: number;
  readonly last: number;
  readonly memory_mib: number;
}

/**
 * A process: `cpu` is in cores, `state` the kernel's letter, and `moves` whether it made progress between samples.
 *
 * `collectives` come from its flight recorder, none where that is off or wasn't read; `gpus` are the GPUs that it uses,
 * none without nvidia-smi.
 */
export interface RankRow {
  readonly group: string;
  readonly rank: number;
  readonly role: string;
  readonly pid: number;
  readonly node: string;
  readonly doing: string;
  readonly call: string;
  readonly moves: boolean;
  readonly cpu: number;
  readonly state: string;
  readonly collectives: readonly CollectiveRow[];
  readonly gpus: readonly GpuRow[];
}

/** A reading of the picture; `confidence` is between 0 and 1. */
export interface ReadingRow {
  readonly kind: string;
  readonly culprits: string;
  readonly confidence: number;
  readonly sentence: string;
  readonly next_step: string;
  readonly group: string;
}

/** The best reading; for the kind `unknown`, `readings` are the two that come next. */
export interface VerdictRow {
  readonly kind: string;
  readonly culprits: string;
  readonly confidence: number;
  readonly sentence: string;
  readonly next_step: string;
  readonly group: string;
  readonly readings: readonly ReadingRow[];
}

/**
 * A rank that wasn't read: `ended`, `not-found`, `not-given`, `cut`, `permission`, `timeout`, `no-tool`, `not-python`,
 * `files-deleted` or `seccomp`.
 */
export interface Unseen {
  readonly group: string;
  readonly rank: number;
  readonly reason: string;
}

/** A node that gave no answer: `timeout`, or `failed` with the reason, such as Ray's, as `detail`. */
export interface SilentNode {
  readonly node: string;
  readonly reason: string;
  readonly detail: string;
}

/**
 * `processes` counts those whose stacks were read; in JSON it is `seen`.
 *
 * `workers` is the title or pattern of the workers that alone were sampled, "" for all.  `main_only` are the ranks that
 * wrote the stack of their main thread themselves, since tracing them isn't allowed.  `resumed` are those that py-spy
 * had left stopped, so that they were sent SIGCONT.  `samples` is how often processes were looked at, 0 for stacks that
 * were given.
 */
export interface Coverage {
  readonly processes: number;
  readonly unseen: readonly Unseen[];
  readonly nodes: readonly SilentNode[];
  readonly workers: string;
  readonly main_only: readonly number[];
  readonly resumed: readonly number[];
  readonly samples: number;
}

/**
 * An exception that a process handles, with `variable` "", or holds in that variable; `frames` are its traceback.
 *
 * `text` is its type with its arguments, and `first` the text of the exception which came first, "" for itself.
 */
export interface ExceptionRow {
  readonly text: string;
  readonly first: string;
  readonly variable: string;
  readonly frames: readonly FrameRow[];
}

/** Tasks of event loops that await the same: `state` is `waits`, `runs` or `ready`, `waits_for` what they await. */
export interface AwaitRow {
  readonly state: string;
  readonly count: number;
  readonly names: readonly string[];
  readonly frames: readonly FrameRow[];
  readonly waits_for: string;
}

/** The answers of a process about itself; `reason` is why answers are missing (`cut`: some), "" if none are. */
export interface InsideRow {
  readonly group: string;
  readonly rank: number;
  readonly reason: string;
  readonly exceptions: readonly ExceptionRow[];
  readonly awaits: readonly AwaitRow[];
}

/** A function of native code, "" where its library has no symbols. */
export interface NativeFrameRow {
  readonly function: string;
  readonly library: string;
}

/**
 * The native frames of a thread below its Python code, outermost frame first; no frames if it runs Python code.
 *
 * `reason` is why that wasn't read, "" if it was.  Reading it stopped the process for at most `paused_s` seconds, and
 * `resumed`: py-spy had left it stopped.
 */
export interface NativeRow {
  readonly group: string;
  readonly rank: number;
  readonly reason: string;
  readonly thread: string;
  readonly frames: readonly NativeFrameRow[];
  readonly paused_s: number;
  readonly resumed: boolean;
}

/**
 * The record of a rank that has ended, or whose log ends with an exception.
 *
 * `exit_code` is negative for a signal, None if it is unknown; `oom_kills` counts the processes that the kernel has
 * killed for lack of memory beside it.  `exception` is what the rank has printed last, raised at `path` and `line`.
 */
export interface ExitRow {
  readonly group: string;
  readonly rank: number;
  readonly exit_code: number | null;
  readonly oom_kills: number;
  readonly exception: string;
  readonly path: string;
  readonly line: number;
}

/**
 * A communicator of NCCL of which ranks lack launches of `call` (`behind`), or say nothing (`absent`), by its own
 * ranks.
 *
 * `joined` are ranks of sampled processes, `dead` the ranks that NCCL considers dead, and `places` processes of the
 * others.
 */
export interface CommunicatorRow {
  readonly name: string;
  readonly size: number;
  readonly call: string;
  readonly joined: string;
  readonly behind: string;
  readonly absent: string;
  readonly dead: string;
  readonly places: readonly string[];
}

/**
 * The answers of NCCL's RAS on a node: how many communicators, and the `ranks` of the largest.
 *
 * `state` says whether ranks have launched `equal` numbers of collectives, and if not, whether these `advance`, or
 * ranks are `behind`; "" if that isn't known.  Send and recv aren't counted, and equal numbers don't exclude a hang.
 * `reasons` say why answers are missing: `timeout`, `refused`, `unreadable`, or `old` for a version that a question may
 * crash.
 */
export interface RasRow {
  readonly node: string;
  readonly version: string;
  readonly reasons: readonly string[];
  readonly communicators: number;
  readonly ranks: number;
  readonly state: string;
  readonly notable: readonly CommunicatorRow[];
  readonly sentences: readonly string[];
}

/**
 * The state at one time, `taken_at` in seconds since 1970; `inside` of those processes that were asked.
 *
 * `native` is of the one process whose native frames say more, none for most verdicts.  `exits` are of those ranks of
 * which logs or the system say something.  `ras` is of the nodes where NCCL's RAS listens.
 *
 * `threads` has all threads besides the leading ones, without idle threads of libraries.
 *
 * `target` says of what it is, such as `run 3f9c`; "" where that is unknown.
 */
export interface Picture {
  readonly version: number;
  readonly taken_at: number;
  readonly verdict: VerdictRow;
  readonly classes: readonly StackClass[];
  readonly ranks: readonly RankRow[];
  readonly coverage: Coverage;
  readonly inside: readonly InsideRow[];
  readonly target: string;
  readonly native: readonly NativeRow[];
  readonly exits: readonly ExitRow[];
  readonly threads: readonly StackClass[];
  readonly ras: readonly RasRow[];
}
