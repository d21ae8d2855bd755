"""Policy library: admission policies for pods and workloads of tenants, as data.

A folder `<name>/` contains policy.yaml, allowed.yaml and denied.yaml. The last two contain objects that the policy must
allow or deny. A comment above each object describes the example. policy.yaml has these keys:

    title, why      one line each; why becomes an annotation of the constraints
    subject         a key of subjects.yaml, which adds kinds and variables
    kinds           [{apiGroups, kinds}] instead of the kinds of the subject
    variables       CEL expressions by name, in order
    validations     [{expression, message | messageExpression}]
    parameters      {name: {from: a fact of the model, schema: OpenAPI v3, structural}}
    settings        OpenAPI v3 schemas of the keys that a spec can set under spec.policies.<name>
    sample          the parameters for the examples
    violations      [{example, podSecurity}]: examples of denied.yaml, identified by their comments. They violate only
                    this policy, with all parameters. podSecurity: baseline if that level of Pod Security also denies
                    the example. `gpuc rehearse` creates them in all tenant namespaces

The sources of the library are in policies/ of this repository. The package contains them as library.json and
examples.json, because an installed gpuc has no folder policies/, and because JSON is faster to read than YAML.
`make generate` writes both files; a test fails if they are out of date. A folder with the same name in policies/ of a
fleet replaces a library policy.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).parents[3] / "policies"
"""The policy folders in the repository of gpuc. They are not part of an installed package."""

TABLE = Path(__file__).parent / "library.json"
"""Keys: subjects, policies (by name), and digests (the SHA-256 of policy.yaml by name)."""

EXAMPLES = Path(__file__).parent / "examples.json"
"""The texts of allowed.yaml and denied.yaml, by the name of the policy."""

VERDICTS = ("allowed", "denied")
KEYS = (
    "title", "why", "subject", "kinds", "variables", "validations", "parameters", "settings", "sample", "violations",
)  # fmt: skip
"""The keys of policy.yaml."""

_USED = re.compile(r"\bvariables\.(\w+)")

Schema = dict[str, Any]
"""A structural OpenAPI v3 schema."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the constraints of a policy."""

    name: str
    fact: str
    """The fact that provides the value, for example tenant.resources or settings.registries."""
    schema: Schema


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy, as policy.yaml defines it."""

    name: str
    title: str
    why: str
    kinds: tuple[dict[str, list[str]], ...]
    """apiGroups and kinds of the objects that it checks. Wildcards are not used."""
    variables: dict[str, str]
    """CEL expressions by name. A variable comes after the variables that it uses; unused variables are left out."""
    validations: tuple[dict[str, str], ...]
    """Maps with the keys expression, and message or messageExpression."""
    parameters: tuple[Parameter, ...]
    settings: dict[str, Schema]
    """Schemas of the settings in the spec, by key. A spec that uses the policy must have all of them."""
    sample: dict[str, Any]
    violations: tuple[dict[str, str], ...] = ()
    """Maps with the key example, and optionally podSecurity."""

    @property
    def kind(self) -> str:
        """The kind of the constraints, for example GpucGpuLimits for gpu-limits."""
        return "Gpuc" + "".join(word.capitalize() for word in self.name.split("-"))

    @property
    def is_per_tenant(self) -> bool:
        """Whether the parameters depend on the tenant."""
        return any(parameter.fact.startswith("tenant.") for parameter in self.parameters)

    def match(self, namespaces: dict[str, Any]) -> dict[str, Any]:
        """Return the match block of a constraint for the namespaces that a selector selects."""
        match: dict[str, Any] = {"scope": "Namespaced", "kinds": list(self.kinds), "namespaceSelector": namespaces}
        kinds = {kind for entry in self.kinds for kind in entry["kinds"]}
        if {"Pod", "Job"} <= kinds:
            # The policy reads pod templates itself and compares them with the old object. An expanded pod is always
            # new.
            match["source"] = "Original"
        return match


@cache
def policies() -> dict[str, Policy]:
    """Return the library policies by name, sorted."""
    return {name: policy_of(name, text) for name, text in _table()["policies"].items()}


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(TABLE.read_text(encoding="utf-8"))
    return table


def subjects() -> dict[str, Any]:
    """The subjects of subjects.yaml by name: kinds, and variables."""
    found: dict[str, Any] = _table()["subjects"]
    return found


def is_shipped(name: str, data: bytes) -> bool:
    """Return whether the bytes of a policy.yaml are those of the library policy with this name."""
    return bool(_table()["digests"].get(name) == hashlib.sha256(data).hexdigest())


@cache
def _examples() -> dict[str, dict[str, str]]:
    texts: dict[str, dict[str, str]] = json.loads(EXAMPLES.read_text(encoding="utf-8"))
    return texts


def example_text(name: str, verdict: str) -> str:
    """Return the YAML text of the examples of a library policy.

    Args:
        verdict: an element of VERDICTS.
    """
    return _examples()[name][verdict]


def table_text() -> str:
    """Return the text of library.json from the sources, one policy per line."""
    files = sorted(SOURCES.glob("*/policy.yaml"))
    policies = {file.parent.name: read_yaml(file) for file in files}
    digests = {file.parent.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
    parts = [f'"subjects": {json.dumps(read_yaml(SOURCES / "subjects.yaml"))}']
    parts += [f'"{key}": {_rows(rows)}' for key, rows in (("policies", policies), ("digests", digests))]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def examples_text() -> str:
    """Return the text of examples.json from the sources, one policy per line."""
    folders = [file.parent for file in sorted(SOURCES.glob("*/policy.yaml"))]
    return (
        _rows(
            {
                folder.name: {verdict: (folder / f"{verdict}.yaml").read_text(encoding="utf-8") for verdict in VERDICTS}
                for folder in folders
            }
        )
        + "\n"
    )


def _rows(entries: dict[str, Any]) -> str:
    return "{\n" + ",\n".join(f"{json.dumps(key)}: {json.dumps(entry)}" for key, entry in entries.items()) + "\n}"


def policy_of(name: str, text: dict[str, Any]) -> Policy:
    """Create a policy from the content of a policy.yaml.

    Raises:
        ValueError: if a key is missing, or if a key or the subject is unknown.
    """
    try:
        subject = subjects()[text["subject"]] if "subject" in text else {}
        validations = tuple(text["validations"])
        variables = subject.get("variables", {}) | text.get("variables", {})
        return Policy(
            name=name,
            title=text["title"],
            why=text["why"],
            kinds=tuple(text.get("kinds") or subject["kinds"]),
            variables=_used_variables(variables, validations),
            validations=validations,
            parameters=tuple(
                Parameter(key, entry["from"], entry["schema"]) for key, entry in text.get("parameters", {}).items()
            ),
            settings=text.get("settings", {}),
            sample=text.get("sample", {}),
            violations=tuple(text.get("violations", ())),
        )
    except KeyError as missing:
        raise ValueError(f"policy {name}: {missing} is missing or unknown") from None


def _used_variables(variables: dict[str, str], validations: tuple[dict[str, str], ...]) -> dict[str, str]:
    """Return the variables that the validations use, directly or indirectly, in the order of their declaration."""
    open_texts = [text for validation in validations for text in validation.values()]
    used: set[str] = set()
    while open_texts:
        for name in _USED.findall(open_texts.pop()):
            if name in variables and name not in used:
                used.add(name)
                open_texts.append(variables[name])
    return {name: expression for name, expression in variables.items() if name in used}


def read_yaml(file: Path) -> dict[str, Any]:
    """The document of a YAML file in the checkout."""
    from ruamel.yaml import YAML

    document: dict[str, Any] = YAML(typ="safe", pure=True).load(file.read_text(encoding="utf-8"))
    return document


if __name__ == "__main__":
    from gpuc.policy.folder import library_errors

    if errors := list(library_errors(SOURCES)):
        sys.exit("\n".join(errors))
    TABLE.write_text(table_text(), encoding="utf-8")
    EXAMPLES.write_text(examples_text(), encoding="utf-8")
