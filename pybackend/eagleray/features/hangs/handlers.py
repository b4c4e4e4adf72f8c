"""The picture as JSON, for the command line, saved pictures and the editor."""

from __future__ import annotations

from typing import Any

from eagleray.features.hangs.evidence import Seen
from eagleray.features.hangs.picture import Picture, StackClass
from eagleray.features.hangs.verdict import Reading
from eagleray.sampling.frames import Frame, is_noise

VERSION = 1


def picture_json(taken: Picture) -> dict[str, Any]:
    return {
        "version": VERSION,
        "taken_at": taken.taken_at,
        "verdict": {
            **reading_json(taken.verdict.reading),
            "readings": [reading_json(reading) for reading in taken.verdict.readings],
        },
        "classes": [class_json(each) for each in taken.classes],
        "ranks": [process_json(seen) for seen in taken.processes],
        "coverage": {
            "seen": taken.seen,
            "unseen": [
                {"group": each.group, "rank": each.rank, "reason": each.reason}
                for each in taken.unseen
            ],
            "nodes": [
                {"node": node.host, "reason": node.reason, "detail": node.detail}
                for node in taken.silent
            ],
        },
    }


def reading_json(reading: Reading) -> dict[str, Any]:
    return {
        "kind": reading.kind.value,
        "culprits": str(reading.culprits),
        "confidence": reading.confidence,
        "sentence": reading.sentence,
        "next_step": reading.next_step,
        "group": reading.world,
    }


def class_json(each: StackClass) -> dict[str, Any]:
    return {
        "group": each.group,
        "ranks": str(each.ranks),
        "doing": each.doing,
        "thread": each.thread,
        "frames": [frame_json(frame) for frame in each.frames],
    }


def frame_json(frame: Frame) -> dict[str, Any]:
    return {
        "function": frame.function,
        "path": frame.file,
        "line": frame.line,
        "hidden": is_noise(frame),
    }


def process_json(seen: Seen) -> dict[str, Any]:
    return {
        "group": seen.process.group,
        "rank": seen.rank,
        "role": seen.process.role,
        "pid": seen.process.pid,
        "node": seen.host,
        "doing": seen.activity.doing.value,
        "call": seen.activity.call,
        "moves": seen.moves,
        "cpu": round(seen.cpu, 2),
        "state": seen.last.state,
    }
