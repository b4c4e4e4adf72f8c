// Printed from pybackend/eagleray/runs/model.py by `npm run messages`; do not edit.

/** The options of a run by their names in launch.json; `stops`: for runs that pause. */
export const RUN_OPTIONS = {
  workers: { field: "workers", kind: "patterns", stops: true, most: 0 },
  ranks: { field: "ranks", kind: "ranks", stops: true, most: 0 },
  breakOnFailure: { field: "post_mortem", kind: "truth", stops: true, most: 0 },
  children: { field: "children", kind: "truth", stops: true, most: 0 },
  watchMinutes: { field: "watch_minutes", kind: "number", stops: false, most: 1440 },
} as const;
