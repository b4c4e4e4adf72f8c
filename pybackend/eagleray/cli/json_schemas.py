"""The shapes of `--json` of all commands, and their JSON schemas."""

from __future__ import annotations

from eagleray.cli.clusters.shapes import CLUSTER, JOB
from eagleray.cli.debug.shapes import ATTACHMENT, LOG, OUTCOME, PAUSED, PDB_SESSION, WORKER
from eagleray.cli.doctor.shapes import DIAGNOSIS
from eagleray.cli.json_shapes import Field, Json, Shape
from eagleray.cli.observe.shapes import INSPECTION, PICTURE
from eagleray.cli.profile.shapes import REPORT
from eagleray.cli.rollouts.agent_shapes import AGENT_RUN, AGENT_WAVE
from eagleray.cli.rollouts.server_shapes import SERVER, SERVER_VARIABLES, STARTED_SERVER
from eagleray.cli.rollouts.shapes import BATCH, COMPARISON, REPLAY, TRAJECTORIES
from eagleray.cli.runs.shapes import PRESET, RUN

SHAPES: dict[str, tuple[str, Shape]] = {
    "clusters": ("a list of", CLUSTER),
    "slurm": ("a list of", JOB),
    "workers": ("a list of", WORKER),
    "paused": ("a list of", PAUSED),
    "attach": ("one", ATTACHMENT),
    "continue, detach": ("one", OUTCOME),
    "logs": ("one", LOG),
    "pdb": ("a list of", PDB_SESSION),
    "runs": ("a list of", RUN),
    "serve": ("a list of", SERVER),
    "serve start, serve restart": ("one", STARTED_SERVER),
    "serve stop, serve add": ("one", SERVER),
    "serve env": ("one", SERVER_VARIABLES),
    "presets": ("a list of", PRESET),
    "report": ("one", REPORT),
    "stacks": ("one", PICTURE),
    "inspect": ("one", INSPECTION),
    "trajectories": ("one", TRAJECTORIES),
    "batch": ("one", BATCH),
    "replay": ("one", REPLAY),
    "doctor": ("one", DIAGNOSIS),
    "agent-run": ("one", AGENT_RUN),
    "agent-wave": ("one", AGENT_WAVE),
    "compare": ("one", COMPARISON),
}


def json_schema(name: str) -> Json:
    """The JSON schema of what `--json` of a command prints."""
    kind, shape = SHAPES[name]
    described = {
        "type": "object",
        "required": list(shape),
        "properties": {key: _field_schema(field) for key, field in shape.items()},
    }
    schema = described if kind == "one" else {"type": "array", "items": described}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"eagleray {name}",
        **schema,
    }


def _field_schema(field: Field) -> Json:
    types = field.type.split(" or ")
    schema: Json = {"type": types if len(types) > 1 else types[0], "description": field.meaning}
    if types == ["any"]:
        del schema["type"]
    if field.fields and types[0] == "object":
        schema["required"] = list(field.fields)
    elif field.fields:
        schema["items"] = {"type": "object", "required": list(field.fields)}
    return schema
