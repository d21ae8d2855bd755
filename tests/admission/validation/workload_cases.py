"""The cases of pods and of all families of workload kinds."""

from __future__ import annotations

from tests.admission.validation.bases import family_cases, read_cases

WORKLOAD_CASES = family_cases("checked")
WEBHOOK_CASES = family_cases("webhook")
POD_CASES, UNCHECKED = read_cases("pod_cases.yaml")
VOLCANO, UNCHECKED_QUEUE = read_cases("volcano_cases.yaml")
