"""The tables of pods and of all kinds of workloads, with the functions that their rows name.

The rows and the functions of a family of kinds are in gpuc.workloads.<family>: <family>.rows and checks.py.
"""

from __future__ import annotations

import inspect
from functools import cache
from importlib import import_module
from pathlib import Path

from gpuc.admission.validation.table import Tables

_OWN, _FAMILIES = Path(__file__).parent, Path(__file__).parents[2] / "workloads"
_MODULES = ("changes", "kueue", "kueue_topology", "metadata", "pods", "resources", "volumes")
"""The modules of this package with functions that rows name."""


@cache
def tables() -> Tables:
    """Returns the tables. The modules of the families are imported when the tables are first used."""
    files = sorted(_FAMILIES.glob("*/*.rows"))
    families = (f"gpuc.workloads.{file.parent.name}.checks" for file in files if file.with_name("checks.py").exists())
    modules = map(import_module, (*(f"gpuc.admission.validation.{name}" for name in _MODULES), *families))
    functions = {
        name.strip("_").replace("_", " "): function
        for module in modules
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__
    }
    return Tables([*sorted(_OWN.glob("rows/*.rows")), *files], functions)
