"""Finds the modules of the rehearsal about components, substrates and kinds of workloads, by their names.

The folders components, substrates and workloads mirror those of gpuc. There is no central list.
"""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

from gpuc.parts.folders import module_name

_PACKAGE = "gpuc_rehearsal"


def component_module(folder: Path) -> ModuleType:
    """Imports and returns the module of a component whose program the rehearsal runs, by its folder in gpuc."""
    return import_module(module_name(folder).replace("gpuc", _PACKAGE, 1))


def substrate_module(folder: str) -> ModuleType:
    """Imports and returns the module of a substrate, by the name of its folder in gpuc."""
    return import_module(f"{_PACKAGE}.substrates.{folder}")


def workload_modules() -> Iterator[ModuleType]:
    """Imports and yields the modules about families of workloads, of all families that have a module."""
    names = sorted(module.name for module in iter_modules([str(Path(__file__).with_name("workloads"))]))
    return (import_module(f"{_PACKAGE}.workloads.{name}") for name in names)
