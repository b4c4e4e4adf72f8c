"""The requests of the feature `doctor`, printed as `extension/features/doctor/messages.ts`."""

from __future__ import annotations

from eagleray.features.doctor.model import Diagnosis, DiagnosisTarget
from eagleray.wire.requests import LongRequest

DIAGNOSE = LongRequest("eagleray/doctor/diagnose", DiagnosisTarget, Diagnosis)
