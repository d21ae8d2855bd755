"""Finds the rehearsal's modules about components, substrates and kinds of workloads.

A module has the same name and folder as in gpuc. There is no central list.
"""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

from gpuc.parts.folders import module_name

_PACKAGE = "gpuc_rehearsal"


def component_module(folder: Path) -> ModuleType:
    """Returns the module of gpuc_rehearsal about a component. `folder` is the folder of the component in gpuc."""
    return import_module(module_name(folder).replace("gpuc", _PACKAGE, 1))


def substrate_module(folder: str) -> ModuleType:
    """Returns the module of gpuc_rehearsal about a substrate. `folder` is the folder of the substrate in gpuc."""
    return import_module(f"{_PACKAGE}.substrates.{folder}")


def workload_modules() -> Iterator[ModuleType]:
    """Yields the modules of gpuc_rehearsal about families of workloads. Most families need no module."""
    names = sorted(module.name for module in iter_modules([str(Path(__file__).with_name("workloads"))]))
    return (import_module(f"{_PACKAGE}.workloads.{name}") for name in names)
