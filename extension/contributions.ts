/** The ids of everything that package.json contributes; a test compares both. */

import type { PathMapping } from "./debug/source_mapping/messages";

/** Every command; package.json gives its title, its menus and its keys. */
export const COMMANDS = {
  // The extension itself
  showLog: "eagleray.showLog",
  restart: "eagleray.restart",
  selectPython: "eagleray.selectPython",
  showPanel: "eagleray.showPanel",
  // Clusters
  connectCluster: "eagleray.connectCluster",
  connectJob: "eagleray.connectJob",
  addLoginNode: "eagleray.addLoginNode",
  removeLoginNode: "eagleray.removeLoginNode",
  removeCluster: "eagleray.removeCluster",
  refresh: "eagleray.refresh",
  reconnect: "eagleray.reconnect",
  showSshLog: "eagleray.showSshLog",
  openTerminal: "eagleray.openTerminal",
  setToken: "eagleray.setToken",
  setHeaders: "eagleray.setHeaders",
  setCertificates: "eagleray.setCertificates",
  copyFix: "eagleray.copyFix",
  openDashboard: "eagleray.openDashboard",
  copyAddress: "eagleray.copyAddress",
  renameCluster: "eagleray.renameCluster",
  // Workers
  groupByClass: "eagleray.groupByClass",
  groupByNode: "eagleray.groupByNode",
  copyWorkerName: "eagleray.copyWorkerName",
  copyWorkerId: "eagleray.copyWorkerId",
  showPausedWorkers: "eagleray.showPausedWorkers",
  copyPid: "eagleray.copyPid",
  copyNode: "eagleray.copyNode",
  openLog: "eagleray.openLog",
  openErrorLog: "eagleray.openErrorLog",
  followLog: "eagleray.followLog",
  stopFollowing: "eagleray.stopFollowing",
  searchLogs: "eagleray.searchLogs",
  // Debugging
  attach: "eagleray.attach",
  attachNext: "eagleray.attachNext",
  continue: "eagleray.continue",
  continueGroup: "eagleray.continueGroup",
  continueOthers: "eagleray.continueOthers",
  continueAll: "eagleray.continueAll",
  detach: "eagleray.detach",
  skipBreakpoint: "eagleray.skipBreakpoint",
  manageSkipped: "eagleray.manageSkipped",
  // Inspections
  inspectWorker: "eagleray.lookInside",
  pauseAtNextLine: "eagleray.pauseAtNextLine",
  viewValue: "eagleray.viewValue",
  // Source mapping
  goToLine: "eagleray.goToLine",
  mapSourceFolder: "eagleray.mapSourceFolder",
  openWorkerFile: "eagleray.openWorkerFile",
  compareWithWorker: "eagleray.compareWithWorker",
  // Runs
  debug: "eagleray.debug",
  debugWithOptions: "eagleray.debugWithOptions",
  rerunLast: "eagleray.rerunLast",
  shortTestRun: "eagleray.shortTestRun",
  stopRun: "eagleray.stopRun",
  restartRun: "eagleray.restartRun",
  editAndRerun: "eagleray.editAndRerun",
  pauseWorker: "eagleray.pauseWorker",
  showOutput: "eagleray.showOutput",
  openOutput: "eagleray.openOutput",
  goToBreakpoint: "eagleray.goToBreakpoint",
  copyCommand: "eagleray.copyCommand",
  removeRun: "eagleray.removeRun",
  clearEndedRuns: "eagleray.clearEndedRuns",
  presets: "eagleray.presets",
  selectInterpreter: "eagleray.selectInterpreter",
  // Profiling
  profile: "eagleray.profile",
  recordNow: "eagleray.recordNow",
  stopRecording: "eagleray.stopRecording",
  finishAndDownload: "eagleray.finishAndDownload",
  downloadReports: "eagleray.downloadReports",
  openReport: "eagleray.openReport",
  // Hangs
  whyStuck: "eagleray.whyStuck",
  openPicture: "eagleray.openPicture",
  openStacks: "eagleray.openStacks",
  // Inference servers
  startServer: "eagleray.startServer",
  useServer: "eagleray.useServer",
  copyServerVariables: "eagleray.copyServerVariables",
  removeServer: "eagleray.removeServer",
  // Rollouts
  debugAgent: "eagleray.debugAgent",
  runAgentWave: "eagleray.runAgentWave",
  runIntegrationTest: "eagleray.runIntegrationTest",
  openTrajectories: "eagleray.openTrajectories",
  compareEngines: "eagleray.compareEngines",
  saveBatch: "eagleray.saveBatch",
  replayBatch: "eagleray.replayBatch",
  // The doctor
  diagnose: "eagleray.diagnose",
  // The first run
  openSample: "eagleray.openSample",
  openSampleReport: "eagleray.openSampleReport",
  openWalkthrough: "eagleray.openWalkthrough",
  // Ray's own pdb
  openPdbSession: "eagleray.openPdbSession",
} as const;

export type CommandId = (typeof COMMANDS)[keyof typeof COMMANDS];

/** The views of the panel, from top to bottom. */
export const VIEWS = {
  paused: "eagleray.pausedWorkers",
  runs: "eagleray.runs",
  clusters: "eagleray.clusters",
} as const;

/** The editors of reports: of those that nsys writes, and of databases that it makes of them. */
export const EDITORS = {
  report: "eagleray.nsysReport",
  database: "eagleray.nsysDatabase",
} as const;

/** Pages that aren't editors of a file; the options of a run are restored after a reload of the window. */
export const PANELS = {
  runOptions: "eagleray.runOptions",
  picture: "eagleray.picture",
  trajectories: "eagleray.trajectories",
  diagnosis: "eagleray.diagnosis",
  comparison: "eagleray.comparison",
  value: "eagleray.value",
} as const;

/**
 * The colours of states: of the editor's own, `charts.orange` has a contrast of 1.6 in its default dark theme (1.139), and
 * 3 is the least for an icon (WCAG 2.2, 1.4.11).
 */
export const COLORS = {
  paused: "eagleray.pausedForeground",
  held: "eagleray.heldForeground",
  running: "eagleray.runningForeground",
} as const;

export const VIEW_CONTAINER = "eagleray";

/** “Debug Ray in 2 Minutes”. */
export const WALKTHROUGH = "eagleray.firstRun";

/** The settings, without the prefix `eagleray.`, and the type of each. */
export interface Settings {
  readonly python: string;
  readonly discovery: "own" | "off";
  readonly slurm: "own" | "off";
  readonly "ssh.path": string;
  readonly "ssh.reuseControlMaster": boolean;
  readonly autoAttach: "off" | "first" | "rank0";
  readonly pathMappings: Readonly<Record<string, readonly PathMapping[]>>;
  readonly "runs.python": string;
  readonly "runs.breakOnFailure": boolean;
  readonly "runs.showStops": boolean;
  readonly "runs.showOutput": boolean;
  readonly "profiling.nsys": string;
  readonly "profiling.nsightSystems": string;
}

/** The default of each setting, the same as in package.json. */
export const SETTINGS: Settings = {
  python: "",
  discovery: "own",
  slurm: "own",
  "ssh.path": "",
  "ssh.reuseControlMaster": true,
  autoAttach: "off",
  pathMappings: {},
  "runs.python": "",
  "runs.breakOnFailure": false,
  "runs.showStops": true,
  "runs.showOutput": true,
  "profiling.nsys": "",
  "profiling.nsightSystems": "",
};

/**
 * The commands of the views' titles, which need no row: their menu passes them the same arguments as the menu of a row
 * that has gone (VS Code 1.139).
 */
export const TITLE_COMMANDS: ReadonlySet<CommandId> = new Set([
  COMMANDS.attachNext,
  COMMANDS.continueAll,
  COMMANDS.refresh,
  COMMANDS.manageSkipped,
  COMMANDS.showLog,
  COMMANDS.restart,
  COMMANDS.debug,
  COMMANDS.debugWithOptions,
  COMMANDS.shortTestRun,
  COMMANDS.profile,
  COMMANDS.rerunLast,
  COMMANDS.presets,
  COMMANDS.openReport,
  COMMANDS.openPicture,
  COMMANDS.openStacks,
  COMMANDS.clearEndedRuns,
  COMMANDS.startServer,
  COMMANDS.useServer,
  COMMANDS.connectCluster,
  COMMANDS.groupByNode,
  COMMANDS.groupByClass,
  COMMANDS.addLoginNode,
  COMMANDS.removeLoginNode,
]);

/** Context keys that `when` clauses of package.json read, and their values. */
export interface ContextKeys {
  /** The state of the sidecar: selects the welcome text of an empty view. */
  readonly "eagleray.sidecar":
    "idle" | "starting" | "ready" | "no-python" | "failed" | "unsupported";
  /** Some worker is paused or held: gives "Attach to Next Paused Worker" its key. */
  readonly "eagleray.hasPaused": boolean;
  /** The view Paused lists some worker, also one that is being debugged: gives "Continue All" its key and button. */
  readonly "eagleray.hasListed": boolean;
  /** Some cluster is listed: selects the welcome texts. */
  readonly "eagleray.hasClusters": boolean;
  /** Some cluster is connected: completes a step of the walkthrough. */
  readonly "eagleray.connected": boolean;
  /** The Python of a run had Ray: completes a step of the walkthrough. */
  readonly "eagleray.pythonHasRay": boolean;
  /** Some run is listed: the user doesn't need the sample project any more. */
  readonly "eagleray.hasRuns": boolean;
  /** The paths of the visible Python files that import Ray: their title has “Debug on Ray” as a button of its own. */
  readonly "eagleray.rayPrograms": readonly string[];
  /** Some run has not ended. */
  readonly "eagleray.hasLiveRuns": boolean;
  /** Some inference server was added by its address. */
  readonly "eagleray.hasServers": boolean;
  /** Some job holds a Ray that is not connected yet. */
  readonly "eagleray.hasJobs": boolean;
  /** Some log is being followed. */
  readonly "eagleray.following": boolean;
  /** Some live run is profiled. */
  readonly "eagleray.hasProfiled": boolean;
  /** How the workers of the view Clusters are grouped. */
  readonly "eagleray.clustersBy": "class" | "node";
}

export const CONTEXT_KEYS: readonly (keyof ContextKeys)[] = [
  "eagleray.sidecar",
  "eagleray.hasPaused",
  "eagleray.hasListed",
  "eagleray.hasClusters",
  "eagleray.connected",
  "eagleray.pythonHasRay",
  "eagleray.hasRuns",
  "eagleray.rayPrograms",
  "eagleray.hasLiveRuns",
  "eagleray.hasJobs",
  "eagleray.hasServers",
  "eagleray.following",
  "eagleray.hasProfiled",
  "eagleray.clustersBy",
];

/**
 * `contextValue` of the rows of the views, which the menus of package.json match.
 * A worker's is `worker.<state>`: worker.paused, worker.held, worker.debugging, worker.gone; the value of a run's
 * worker is `runWorker.<state>`: runWorker.starting, runWorker.running, runWorker.paused, runWorker.debugging,
 * runWorker.held. The values of a run and of its worker end with `.profiled` or `.recording` where nsys is with it.
 */
export const ROWS = {
  cluster: { own: "cluster.own", added: "cluster.added" },
  /** Ends the value of a cluster which a connection of ours leads to. */
  routed: ".routed",
  job: { found: "job", connecting: "job.connecting" },
  jobHost: "jobHost",
  problem: "problem",
  /** Ends the value of a problem which a command fixes. */
  fix: {
    token: ".token",
    headers: ".headers",
    certificates: ".certificates",
    reconnect: ".reconnect",
  },
  /** Ends the value of a problem of which a program printed more than its texts say. */
  sshLog: ".sshLog",
  log: ".log",
  node: "node",
  group: "group",
  sentence: "sentence",
  worker: "worker",
  anyWorker: "anyWorker",
  anyGroup: "anyGroup",
  run: { live: "run.live", ended: "run.ended" },
  /** Comes next in the value of a run that is an inference server. */
  server: ".server",
  /** Comes next in the value of a run of which a picture was saved. */
  picture: ".picture",
  runWorker: "runWorker",
  runLine: "runLine",
  runReport: "runReport",
  addedServer: "addedServer",
  profiled: ".profiled",
  recording: ".recording",
} as const;

export const DEBUG_TYPE = "eagleray";

/** Sessions that show a worker which isn't stopped. */
export const INSPECTION_TYPE = "eagleray-inspection";
