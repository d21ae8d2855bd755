"""The registry of the kinds of workloads."""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module

from gpuc.kubernetes.kueue import GROUP
from gpuc.parts.workload_kind import Controller, WorkloadKind, unknown_kind

_FAMILIES = "gpuc.workloads"


@cache
def workload_kinds() -> tuple[WorkloadKind, ...]:
    """Returns the records of all families, in the order of the names of the families."""
    folder = import_module(_FAMILIES).__path__[0]
    families = sorted(entry.name for entry in os.scandir(folder) if os.path.exists(f"{entry.path}/kind.py"))
    return tuple(kind for family in families for kind in import_module(f"{_FAMILIES}.{family}.kind").KINDS)


@cache
def _by_kind() -> dict[tuple[str, str], WorkloadKind]:
    return {(kind.group, kind.kind): kind for kind in workload_kinds()}


@cache
def workload_kind(api_group: str, kind: str) -> WorkloadKind:
    """Returns the record of a kind; a record without answers for a kind that gpuc does not know."""
    return _by_kind().get((api_group, kind)) or unknown_kind(api_group, kind)


@cache
def spec_frameworks() -> dict[str, WorkloadKind]:
    """Returns the kinds by the frameworks of Kueue that a spec can name."""
    named = [(kind.queueing.place, kind) for kind in workload_kinds() if kind.queueing.place is not None]
    return {kind.queueing.framework: kind for _, kind in sorted(named, key=lambda row: row[0])}


@cache
def installed_controllers() -> dict[str, Controller]:
    """Returns the controllers that users install, by the frameworks that a spec can name."""
    found = {name: kind.controller for name, kind in spec_frameworks().items()}
    return {name: controller for name, controller in found.items() if controller and controller.title}


@cache
def frameworks() -> frozenset[str]:
    """Returns all frameworks of Kueue."""
    return frozenset(filter(None, (kind.queueing.framework for kind in workload_kinds())))


@cache
def pod_frameworks() -> frozenset[str]:
    """Returns the frameworks of Kueue with which Kueue holds pods with a scheduling gate."""
    return frozenset(kind.queueing.framework for kind in workload_kinds() if kind.queueing.holds_pods)


@cache
def label_prefixes() -> tuple[str, ...]:
    """Returns starts of the keys of labels that controllers add to the pods of a template."""
    prefixes = (prefix for kind in workload_kinds() for prefix in kind.labels.prefixes)
    return (f"{GROUP}/", *dict.fromkeys(prefixes))
