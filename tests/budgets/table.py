"""The budgets of the commands: budgets.toml, which `make budgets` writes, and what exceeds them."""

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.budgets.measure import Measured, is_own

FILE = Path(__file__).parent / "budgets.toml"
OWN_SLACK, LIBRARY_SLACK = 0.01, 0.15
"""The shares by which a value may exceed its budget.

The calls of gpuc are the same in Python 3.11 to 3.13, except for a few in a thousand. Libraries call other functions in
each version of Python.
"""
SHOWN_CALLS = 500
"""The table has the functions with so many calls, to name those that grow."""
SHOWN = 8
"""The number of modules or functions in a message."""
_HEAD = """\
# What the commands of gpuc may load, call and read. No number depends on the speed of a machine. `make budgets` writes
# this file: run it if a change is worth what it costs, and explain the costs in the commit.

"""
_OWN, _LIBRARIES = "gpuc", "libraries"


@dataclass(frozen=True)
class Budgets:
    """The contents of budgets.toml."""

    modules: dict[str, dict[str, int]]
    """The number of modules by command, of gpuc and of libraries."""
    calls: dict[str, dict[str, int]]
    """The number of calls by command and spec, of gpuc and of libraries."""
    files: dict[str, list[str]]
    """The YAML files that `gpuc check` of a spec reads."""
    functions: dict[str, dict[str, int]]
    """The calls of the functions with most calls by command and spec; a library is one function."""
    loaded: dict[str, list[str]]
    """The commands that load a module."""


def budgets_of(measured: Measured) -> Budgets:
    """Returns the budgets that a measurement meets exactly."""
    loaded: dict[str, list[str]] = {}
    for command, modules in measured.modules.items():
        for module in filter(is_own, modules):
            loaded.setdefault(module, []).append(command)
    return Budgets(
        {command: _sums(dict.fromkeys(modules, 1), is_own) for command, modules in measured.modules.items()},
        {case: _sums(calls, _is_function) for case, calls in measured.calls.items()},
        measured.files,
        {case: _largest(calls) for case, calls in measured.calls.items()},
        dict(sorted(loaded.items())),
    )


def read() -> Budgets:
    """Returns the budgets of the file."""
    return Budgets(**tomllib.loads(FILE.read_text(encoding="utf-8")))


def text_of(budgets: Budgets) -> str:
    """Returns the contents of the file."""
    return _HEAD + "\n".join(_lines(vars(budgets)))


def exceeded(budgets: Budgets, measured: Measured) -> Iterator[str]:
    """Yields a line for each exceeded budget, with what grew."""
    actual = budgets_of(measured)
    for command, counts in actual.modules.items():
        known = budgets.loaded
        new = [
            module for module in measured.modules[command] if is_own(module) and command not in known.get(module, ())
        ]
        libraries = Counter(name.partition(".")[0] for name in measured.modules[command] if not is_own(name))
        for part, names in ((_OWN, new), (_LIBRARIES, [f"{name} ({n})" for name, n in libraries.most_common()])):
            if line := _growth(budgets.modules.get(command, {}), counts, part, "modules"):
                yield f"gpuc {command} loads {line}: {_first(names)}"
    for case, counts in actual.calls.items():
        grown = Counter(measured.calls[case])
        grown.subtract(budgets.functions.get(case, {}))
        for part in (_OWN, _LIBRARIES):
            names = [
                f"{name} (+{n})" for name, n in grown.most_common() if n > 0 and _is_function(name) == (part == _OWN)
            ]
            if line := _growth(budgets.calls.get(case, {}), counts, part, "calls"):
                yield f"gpuc {case} makes {line}: {_first(names)}"
    for spec, files in actual.files.items():
        if more := sorted(set(files) - set(budgets.files.get(spec, ()))):
            yield f"gpuc check {spec} reads more YAML files: {_first(more)}"


def _growth(budget: Mapping[str, int], counts: Mapping[str, int], part: str, what: str) -> str:
    """Returns the exceeded number in words; an empty text if the number is within the budget."""
    allowed = budget.get(part, 0)
    if counts[part] <= allowed * (1 + (OWN_SLACK if part == _OWN else LIBRARY_SLACK)):
        return ""
    return f"{counts[part]} {what} of {part}, {counts[part] - allowed} more than the budget"


def _first(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{', '.join(names[:SHOWN])}{more}"


def _is_function(name: str) -> bool:
    """Returns whether a name of a counted function is one of gpuc, and not the name of a library."""
    return ":" in name


def _largest(calls: Counter[str]) -> dict[str, int]:
    return {name: count for name, count in sorted(calls.items()) if count >= SHOWN_CALLS or not _is_function(name)}


def _sums(counts: Mapping[str, int], is_of_gpuc: Any) -> dict[str, int]:
    own = sum(count for name, count in counts.items() if is_of_gpuc(name))
    return {_OWN: own, _LIBRARIES: sum(counts.values()) - own}


def _lines(tables: Mapping[str, Any]) -> Iterator[str]:
    for title, rows in tables.items():
        yield f"[{title}]"
        for name, value in rows.items():
            if title == "functions":
                yield f'[{title}."{name}"]'
                yield from (f'"{key}" = {count}' for key, count in value.items())
            else:
                texts = [f"{key} = {count}" for key, count in value.items()] if isinstance(value, dict) else value
                yield f'"{name}" = ' + ("{" + ", ".join(texts) + "}" if isinstance(value, dict) else str(texts))
        yield ""
