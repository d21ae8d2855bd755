"""The cases of pods and of all families of workload kinds (tests/workloads/<family>/cases.py)."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from tests.admission.validation.bases import Case, read_cases

_FAMILIES = sorted(file.parent.name for file in Path(__file__).parents[2].glob("workloads/*/cases.py"))


def _cases(name: str) -> list[Case]:
    modules = [import_module(f"tests.workloads.{family}.cases") for family in _FAMILIES]
    return [case for module in modules for case in getattr(module, name, ())]


WORKLOAD_CASES = _cases("CASES")
WEBHOOK_CASES = _cases("WEBHOOK_CASES")
"""Objects that only webhooks refuse, which a bare API server accepts."""
POD_CASES, UNCHECKED = read_cases("pod_cases.yaml")
VOLCANO, UNCHECKED_QUEUE = read_cases("volcano_cases.yaml")
