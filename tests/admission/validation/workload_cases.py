"""The cases of all families of workload kinds: CASES and WEBHOOK_CASES of tests/workloads/<family>/cases.py."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from tests.admission.validation.bases import Case

_FAMILIES = sorted(file.parent.name for file in Path(__file__).parents[2].glob("workloads/*/cases.py"))


def _cases(name: str) -> list[Case]:
    modules = [import_module(f"tests.workloads.{family}.cases") for family in _FAMILIES]
    return [case for module in modules for case in getattr(module, name, ())]


WORKLOAD_CASES = _cases("CASES")
WEBHOOK_CASES = _cases("WEBHOOK_CASES")
"""Objects that only webhooks refuse, which a bare API server accepts."""
