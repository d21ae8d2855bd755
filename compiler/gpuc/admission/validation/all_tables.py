"""The tables of pods and of all kinds of workloads, with the functions that their rows name.

The rows and the functions of a family of kinds are in gpuc.workloads.<family>: <family>.rows and checks.py.
"""

from __future__ import annotations

import inspect
from functools import cache
from pathlib import Path

from gpuc.admission.validation import changes, kueue, metadata, pod_spec_defaults, pods, resources, volumes
from gpuc.admission.validation.table import Tables
from gpuc.parts.workload_kinds import family_files, family_modules


@cache
def tables() -> Tables:
    """Returns the tables. The modules of the families are imported when the tables are first used."""
    modules = (changes, kueue, metadata, pod_spec_defaults, pods, resources, volumes, *family_modules("checks"))
    functions = {
        name.strip("_").replace("_", " "): function
        for module in modules
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__
    }
    return Tables([*sorted((Path(__file__).parent / "rows").glob("*.rows")), *family_files("*.rows")], functions)
