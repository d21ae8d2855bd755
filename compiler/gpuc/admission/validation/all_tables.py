"""All tables of checks (see table.py): of pods and of each kind of workloads, with the functions that the tables name.

The tables and the functions of a family of kinds are in gpuc.workloads.<family>: <family>.rows and checks.py. All
families share the names of tables and functions, so each name exists only once.
"""

import inspect
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from gpuc.admission.validation.constraints import CONSTRAINTS
from gpuc.admission.validation.table import Tables
from gpuc.parts.workload_kinds import family_files, family_modules

_OWN = "gpuc.admission.validation"
_MODULES = ("changes", "kueue", "metadata", "objects", "pods", "resources", "volumes")
"""The modules of this package with functions that rows name."""


@cache
def tables() -> Tables:
    """Returns the tables. The first use of the tables imports the modules of the families.

    Raises:
        ValueError: when two modules have a function with the same name.
    """
    own = (import_module(f"{_OWN}.{name}") for name in _MODULES)
    functions: dict[str, Callable[..., Any]] = {**CONSTRAINTS}
    for module in (*own, *family_modules("checks")):
        for name, function in inspect.getmembers(module, inspect.isfunction):
            words = name.strip("_").replace("_", " ")
            if function.__module__ == module.__name__ and functions.setdefault(words, function) is not function:
                raise ValueError(f'{functions[words].__module__} and {module.__name__} have the function "{words}"')
    return Tables([*sorted((Path(__file__).parent / "rows").glob("*.rows")), *family_files("*.rows")], functions)
