"""The policy folders: what pods and workloads of tenants may not do, as data.

A folder `<name>/` holds policy.yaml, and in allowed.yaml and denied.yaml the objects that it must let through and
refuse, each behind a comment that says what it shows. policy.yaml has the keys

    title, why      one line each; why becomes an annotation of the constraints
    subject         what of subjects.yaml it is about: kinds, and variables that come before its own
    kinds           [{apiGroups, kinds}] instead of the subject's
    variables       CEL expression by name, in order
    validations     [{expression, message | messageExpression}]
    parameters      {name: {from: a fact of the model, schema: OpenAPI v3, structural}}
    settings        OpenAPI v3 by key that a spec may write under spec.policies.<name>
    sample          the parameters under which the examples are judged
    violations      [{example, podSecurity}]: examples of denied.yaml, by their comments, that break this policy and no
                    other in every cluster, whatever its parameters; podSecurity: baseline where that level of Pod
                    Security refuses them too. `gpuc rehearse` tries them in every namespace of every tenant

The folder policies/ of this repository holds the sources of the policies that come with gpuc. The package carries
them as a table, library.json, and their examples as another, examples.json: an installed gpuc has no folder, and
reading YAML takes longer than all else that a compile does with policies. `make generate` writes both anew; a
test fails where they differ. A folder of the same name in the policies/ of a fleet replaces ours.
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
"""The folders in the checkout of gpuc; not part of an installed package."""

TABLE = Path(__file__).parent / "library.json"
"""subjects, policies by name, and digests: the SHA-256 of each policy.yaml by name."""

EXAMPLES = Path(__file__).parent / "examples.json"
"""The texts of allowed.yaml and denied.yaml by the name of the policy."""

VERDICTS = ("allowed", "denied")
KEYS = (
    "title", "why", "subject", "kinds", "variables", "validations", "parameters", "settings", "sample", "violations",
)  # fmt: skip
"""The keys of policy.yaml."""

_USED = re.compile(r"\bvariables\.(\w+)")

Schema = dict[str, Any]
"""An OpenAPI v3 schema, structural and typed."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a policy's constraints."""

    name: str
    fact: str
    """The fact of the model that fills it, for example tenant.resources or settings.registries."""
    schema: Schema


@dataclass(frozen=True, slots=True)
class Policy:
    """One policy, as its folder tells it."""

    name: str
    title: str
    why: str
    kinds: tuple[dict[str, list[str]], ...]
    """apiGroups and kinds that it judges, never a wildcard."""
    variables: dict[str, str]
    """CEL expression by name, each after those that it uses; none without a use."""
    validations: tuple[dict[str, str], ...]
    """expression, and message or messageExpression."""
    parameters: tuple[Parameter, ...]
    settings: dict[str, Schema]
    """What a spec may set, by key; all of them are needed where the policy is used."""
    sample: dict[str, Any]
    violations: tuple[dict[str, str], ...] = ()
    """example, and podSecurity where it applies."""

    @property
    def kind(self) -> str:
        """The kind of its constraints: gpu-limits is GpucGpuLimits."""
        return "Gpuc" + "".join(word.capitalize() for word in self.name.split("-"))

    @property
    def is_per_tenant(self) -> bool:
        """Whether its parameters differ from tenant to tenant."""
        return any(parameter.fact.startswith("tenant.") for parameter in self.parameters)

    def match(self, namespaces: dict[str, Any]) -> dict[str, Any]:
        """What a constraint of the policy judges in the namespaces that a selector finds."""
        match: dict[str, Any] = {"scope": "Namespaced", "kinds": list(self.kinds), "namespaceSelector": namespaces}
        kinds = {kind for entry in self.kinds for kind in entry["kinds"]}
        if {"Pod", "Job"} <= kinds:
            # It reads pod templates itself, and there knows what was before; an expanded pod always counts as new.
            match["source"] = "Original"
        return match


@cache
def policies() -> dict[str, Policy]:
    """The policies that come with gpuc, by name, sorted."""
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
    """Whether a policy.yaml holds the bytes that came with gpuc under the name."""
    return bool(_table()["digests"].get(name) == hashlib.sha256(data).hexdigest())


@cache
def _examples() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads(EXAMPLES.read_text(encoding="utf-8"))
    return found


def example_text(name: str, verdict: str) -> str:
    """The YAML text of the examples of a policy that comes with gpuc.

    Args:
        verdict: one of VERDICTS.
    """
    return _examples()[name][verdict]


def table_text() -> str:
    """What the table has to hold, one policy to a line."""
    files = sorted(SOURCES.glob("*/policy.yaml"))
    policies = {file.parent.name: read_yaml(file) for file in files}
    digests = {file.parent.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
    parts = [f'"subjects": {json.dumps(read_yaml(SOURCES / "subjects.yaml"))}']
    parts += [f'"{key}": {_rows(rows)}' for key, rows in (("policies", policies), ("digests", digests))]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def examples_text() -> str:
    """What the table of examples has to hold, one policy to a line."""
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
    """The policy that a policy.yaml describes.

    Raises:
        ValueError: when it lacks something or names what does not exist.
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
            variables=_used(variables, validations),
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


def _used(variables: dict[str, str], validations: tuple[dict[str, str], ...]) -> dict[str, str]:
    """The variables that validations reach, in the order in which they are declared."""
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
