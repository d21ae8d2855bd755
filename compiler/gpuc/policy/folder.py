"""What is wrong with the folder of a policy: keys, variables without a declaration, examples without a name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from gpuc.diagnostics.spelling import nearest
from gpuc.policy.library import KEYS, VERDICTS, read_yaml

_VARIABLE = re.compile(r"\bvariables\.(\w+)")
_PARAMETERS = "params"
"""The variable that Gatekeeper declares itself."""
_ENTRIES = {
    "kinds": ("apiGroups", "kinds"),
    "validations": ("expression", "message", "messageExpression"),
    "violations": ("example", "podSecurity"),
}
"""The keys of each entry of a list, by the key of the list."""


def policy_errors(name: str, text: Any, subjects: dict[str, Any]) -> Iterator[str]:
    """What is wrong with a policy.yaml, one sentence for each key or variable.

    Args:
        subjects: the subjects of subjects.yaml by name.
    """
    place = f"policy {name}"
    if not isinstance(text, dict):
        yield f"{place}: policy.yaml is not a map"
        return
    yield from _unknown(place, text, KEYS)
    for key in ("title", "why", "validations"):
        if not text.get(key):
            yield f"{place}: the key {key} is missing"
    if "subject" in text and text["subject"] not in subjects:
        yield f"{place}: subject {text['subject']} does not exist, subjects.yaml has {', '.join(subjects)}"
    elif "subject" not in text and not text.get("kinds"):
        yield f"{place}: the keys kinds and subject are missing, one of them is needed"
    for key, known in _ENTRIES.items():
        for number, entry in enumerate(text.get(key) or ()):
            yield from _unknown(f"{place}, {key}[{number}]", entry, known)
    for parameter, entry in (text.get("parameters") or {}).items():
        yield from _parameter_errors(f"{place}, parameter {parameter}", entry)
    yield from _variable_errors(place, text, subjects)


def library_errors(sources: Path) -> Iterator[str]:
    """What is wrong with the folders of the policies that come with gpuc."""
    subjects = read_yaml(sources / "subjects.yaml")
    for folder in sorted(entry for entry in sources.iterdir() if entry.is_dir()):
        if not (folder / "policy.yaml").is_file():
            yield f"policy {folder.name}: the file policies/{folder.name}/policy.yaml is missing"
            continue
        text = read_yaml(folder / "policy.yaml")
        errors = list(policy_errors(folder.name, text, subjects))
        yield from errors or example_errors(folder.name, text, folder)


def example_errors(name: str, text: dict[str, Any], folder: Path) -> Iterator[str]:
    """Missing files of examples, and violations that name no example of denied.yaml."""
    place = f"policy {name}"
    missing = [f"{verdict}.yaml" for verdict in VERDICTS if not (folder / f"{verdict}.yaml").is_file()]
    yield from (f"{place}: the file policies/{name}/{file} is missing" for file in missing)
    if "denied.yaml" in missing:
        return
    denied = example_names((folder / "denied.yaml").read_text(encoding="utf-8"))
    for row in text.get("violations") or ():
        if isinstance(row, dict) and row.get("example") not in denied:
            yield unknown_example(name, row.get("example"), denied)


def unknown_example(policy: str, example: object, known: Iterable[str]) -> str:
    """The sentence about a violation that names no example."""
    names = "; ".join(f'"{name}"' for name in known)
    return f'policy {policy}: violations names the example "{example}", denied.yaml has {names}'


def example_names(text: str) -> list[str]:
    """The names of the objects that are created: the comment at the beginning of each document, without its period."""
    parts = re.split(r"^---\n", text, flags=re.MULTILINE)
    created = [part for part in parts if "operation: UPDATE" not in part]
    return [part.partition("\n")[0].removeprefix("# ").rstrip(".") for part in created]


def _unknown(place: str, entry: Any, known: Iterable[str]) -> Iterator[str]:
    if not isinstance(entry, dict):
        yield f"{place}: {entry!r} is not a map with the keys {', '.join(known)}"
        return
    for key in entry:
        if key not in known:
            suggestion = nearest(str(key), known)
            choices = f'did you mean "{suggestion}"' if suggestion else f"known are {', '.join(known)}"
            yield f'{place}: unknown key "{key}", {choices}'


def _parameter_errors(place: str, entry: Any) -> Iterator[str]:
    keys = ("from", "schema")
    yield from _unknown(place, entry, keys)
    if isinstance(entry, dict):
        yield from (f"{place}: the key {key} is missing" for key in keys if key not in entry)


def _variable_errors(place: str, text: dict[str, Any], subjects: dict[str, Any]) -> Iterator[str]:
    """Variables that an expression reads before their declaration or without one, and variables without a use."""
    shared = subjects.get(text.get("subject", ""), {}).get("variables", {})
    own = text.get("variables") or {}
    validations = [entry for entry in text.get("validations") or () if isinstance(entry, dict)]
    declared = [_PARAMETERS, *shared]
    expressions = [(f"variable {name}", expression, name) for name, expression in own.items()]
    expressions += [
        (f"validations[{n}]", str(part), "") for n, entry in enumerate(validations) for part in entry.values()
    ]
    for where, expression, declares in expressions:
        for variable in dict.fromkeys(_VARIABLE.findall(str(expression))):
            if variable not in declared:
                yield f"{place}, {where}: no expression above declares the variable {variable}"
        if declares:
            declared.append(declares)
    used = {variable for _, expression, _ in expressions for variable in _VARIABLE.findall(str(expression))}
    yield from (f"{place}: no expression reads the variable {name}" for name in own if name not in used)
