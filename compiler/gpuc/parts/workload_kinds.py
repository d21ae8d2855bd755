"""Finds the kinds of workloads in the folders of gpuc.workloads."""

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from gpuc.kubernetes.kueue import GROUP
from gpuc.parts.workload_kind import Controller, WorkloadKind, unknown_kind

_FAMILIES = "gpuc.workloads"


@cache
def workload_kinds() -> tuple[WorkloadKind, ...]:
    """Returns all kinds of workloads that gpuc knows, in the order of the folders of gpuc.workloads."""
    return tuple(kind for module in family_modules("kind") for kind in module.KINDS)


@cache
def family_files(name: str) -> tuple[Path, ...]:
    """Returns the files in the folders of gpuc.workloads whose name matches a pattern, in the order of the folders."""
    package = find_spec(_FAMILIES)
    assert package is not None and package.submodule_search_locations, "gpuc.workloads is a package"
    return tuple(sorted(Path(package.submodule_search_locations[0]).glob(f"*/{name}")))


def family_modules(name: str) -> Iterator[ModuleType]:
    """Imports and yields the modules with a name, for example "gang", in the folders of gpuc.workloads."""
    return (import_module(f"{_FAMILIES}.{file.parent.name}.{name}") for file in family_files(f"{name}.py"))


@cache
def _by_kind() -> dict[tuple[str, str], WorkloadKind]:
    return {(kind.group, kind.kind): kind for kind in workload_kinds()}


@cache
def workload_kind(api_group: str, kind: str) -> WorkloadKind:
    """Returns what gpuc knows about a kind. For an unknown kind, returns a WorkloadKind with empty fields."""
    return _by_kind().get((api_group, kind)) or unknown_kind(api_group, kind)


@cache
def spec_frameworks() -> dict[str, WorkloadKind]:
    """Returns the kinds of workloads that `kueue.frameworks` of a spec can name, by this name."""
    named = [(kind.queueing.place, kind) for kind in workload_kinds() if kind.queueing.place is not None]
    return {kind.queueing.framework: kind for _, kind in sorted(named, key=lambda row: row[0])}


@cache
def installed_controllers() -> dict[str, Controller]:
    """Returns the controllers that users have to install, by the name of their kind in `kueue.frameworks` of a spec."""
    found = {name: kind.controller for name, kind in spec_frameworks().items()}
    return {name: controller for name, controller in found.items() if controller and controller.title}


@cache
def frameworks() -> frozenset[str]:
    """Returns the names of all kinds of workloads in the configuration of Kueue, for example batch/job."""
    return frozenset(filter(None, (kind.queueing.framework for kind in workload_kinds())))


@cache
def pod_frameworks() -> frozenset[str]:
    """Returns the names, in Kueue's configuration, of kinds whose pods Kueue holds with a scheduling gate."""
    return frozenset(kind.queueing.framework for kind in workload_kinds() if kind.queueing.holds_pods)


@cache
def label_prefixes() -> tuple[str, ...]:
    """Returns the prefixes of the labels that controllers add to pods."""
    prefixes = (prefix for kind in workload_kinds() for prefix in kind.labels.prefixes)
    return (f"{GROUP}/", *dict.fromkeys(prefixes))
