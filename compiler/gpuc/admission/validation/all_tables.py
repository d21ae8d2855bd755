"""The tables of pods and of all kinds of workloads, with the functions that rows of the tables name.

The rows and the functions of a family of kinds are in gpuc.workloads.<family>: <family>.rows and checks.py. The names
of tables and functions are the same for all families. Therefore each name exists only once in all files together.
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
    """Returns the tables. The modules of the families are imported when the tables are first used.

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
