"""The cases of pods, and of all families of workload kinds (tests/workloads/<family>/cases.yaml)."""

from pathlib import Path

from tests.admission.validation.bases import read_cases

_FOLDER = Path(__file__).parent
_WORKLOADS = read_cases(*sorted(_FOLDER.parents[1].glob("workloads/*/cases.yaml")))
_PODS, _VOLCANO = (read_cases(_FOLDER / name) for name in ("pod_cases.yaml", "volcano_cases.yaml"))
WORKLOAD_CASES, WEBHOOK_CASES = _WORKLOADS["checked"], _WORKLOADS["webhooks"]
POD_CASES, UNCHECKED = _PODS["checked"], _PODS["unchecked"]
VOLCANO, UNCHECKED_QUEUE = _VOLCANO["checked"], _VOLCANO["unchecked"]
