"""Finds mistakes in the folder of a policy: unknown keys, undeclared variables, names of missing examples."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from gpuc.diagnostics.spelling import nearest
from gpuc.policy.library import KEYS, VERDICTS, read_yaml

_VARIABLE = re.compile(r"\bvariables\.(\w+)")
_PARAMETERS = "params"
"""The variable that Gatekeeper declares in each policy."""
_ENTRIES = {
    "kinds": ("apiGroups", "kinds"),
    "validations": ("expression", "message", "messageExpression"),
    "violations": ("example", "podSecurity"),
}
"""The allowed keys of the entries of each list in policy.yaml, by the key of the list."""


def policy_errors(name: str, content: Any, subjects: dict[str, Any]) -> Iterator[str]:
    """Yields a sentence for each mistake in a policy.yaml.

    Args:
        content: the parsed policy.yaml.
        subjects: the subjects of subjects.yaml by name.
    """
    prefix = f"policy {name}"
    if not isinstance(content, dict):
        yield f"{prefix}: policy.yaml is not a map"
        return
    yield from _unknown_keys(prefix, content, KEYS)
    for key in ("title", "why", "validations"):
        if not content.get(key):
            yield f"{prefix}: the key {key} is missing"
    if "subject" in content and content["subject"] not in subjects:
        yield f"{prefix}: the subject {content['subject']} does not exist; subjects.yaml has {', '.join(subjects)}"
    elif "subject" not in content and not content.get("kinds"):
        yield f"{prefix}: the keys kinds and subject are missing; set kinds or subject"
    for key, known in _ENTRIES.items():
        for number, entry in enumerate(content.get(key) or ()):
            yield from _unknown_keys(f"{prefix}, {key}[{number}]", entry, known)
    for parameter, entry in (content.get("parameters") or {}).items():
        yield from _parameter_errors(f"{prefix}, parameter {parameter}", entry)
    yield from _variable_errors(prefix, content, subjects)


def library_errors(sources: Path) -> Iterator[str]:
    """Yields a sentence for each mistake in the folders of the library policies.

    Args:
        sources: the folder that contains subjects.yaml and the folders of the policies.
    """
    subjects = read_yaml(sources / "subjects.yaml")
    for folder in sorted(entry for entry in sources.iterdir() if entry.is_dir()):
        if not (folder / "policy.yaml").is_file():
            yield f"policy {folder.name}: the file policies/{folder.name}/policy.yaml is missing"
            continue
        content = read_yaml(folder / "policy.yaml")
        errors = list(policy_errors(folder.name, content, subjects))
        yield from errors or example_errors(folder.name, content, folder)


def example_errors(name: str, content: dict[str, Any], folder: Path) -> Iterator[str]:
    """Yields a sentence for each missing file of examples, and for each violation whose example does not exist."""
    prefix = f"policy {name}"
    missing = [f"{verdict}.yaml" for verdict in VERDICTS if not (folder / f"{verdict}.yaml").is_file()]
    yield from (f"{prefix}: the file policies/{name}/{file} is missing" for file in missing)
    if "denied.yaml" in missing:
        return
    denied = example_names((folder / "denied.yaml").read_text(encoding="utf-8"))
    for row in content.get("violations") or ():
        if isinstance(row, dict) and row.get("example") not in denied:
            yield unknown_example(name, row.get("example"), denied)


def unknown_example(policy: str, example: object, known: Iterable[str]) -> str:
    """Returns the sentence about a violation whose example does not exist in denied.yaml."""
    names = "; ".join(f'"{name}"' for name in known)
    return f'policy {policy}: violations: the example "{example}" does not exist; denied.yaml has {names}'


def example_names(text: str) -> list[str]:
    """Returns the names of the examples that create an object: the first comment of each document, without a period.

    Args:
        text: the text of allowed.yaml or denied.yaml.
    """
    parts = re.split(r"^---\n", text, flags=re.MULTILINE)
    created = [part for part in parts if "operation: UPDATE" not in part]
    return [part.partition("\n")[0].removeprefix("# ").rstrip(".") for part in created]


def _unknown_keys(prefix: str, entry: Any, known: Iterable[str]) -> Iterator[str]:
    if not isinstance(entry, dict):
        yield f"{prefix}: {entry!r} is not a map with the keys {', '.join(known)}"
        return
    for key in entry:
        if key not in known:
            suggestion = nearest(str(key), known)
            choices = f'did you mean "{suggestion}"' if suggestion else f"the keys are {', '.join(known)}"
            yield f'{prefix}: unknown key "{key}", {choices}'


def _parameter_errors(prefix: str, entry: Any) -> Iterator[str]:
    keys = ("from", "schema")
    yield from _unknown_keys(prefix, entry, keys)
    if isinstance(entry, dict):
        yield from (f"{prefix}: the key {key} is missing" for key in keys if key not in entry)


def _variable_errors(prefix: str, content: dict[str, Any], subjects: dict[str, Any]) -> Iterator[str]:
    """Yields a sentence for each variable that is read before its declaration, is not declared, or is not read."""
    shared = subjects.get(content.get("subject", ""), {}).get("variables", {})
    own = content.get("variables") or {}
    validations = [entry for entry in content.get("validations") or () if isinstance(entry, dict)]
    declared = [_PARAMETERS, *shared]
    expressions = [(f"variable {name}", expression, name) for name, expression in own.items()]
    expressions += [
        (f"validations[{n}]", str(part), "") for n, entry in enumerate(validations) for part in entry.values()
    ]
    for location, expression, declared_name in expressions:
        for variable in dict.fromkeys(_VARIABLE.findall(str(expression))):
            if variable not in declared:
                yield f"{prefix}, {location}: no expression above declares the variable {variable}"
        if declared_name:
            declared.append(declared_name)
    used = {variable for _, expression, _ in expressions for variable in _VARIABLE.findall(str(expression))}
    yield from (f"{prefix}: no expression reads the variable {name}" for name in own if name not in used)
