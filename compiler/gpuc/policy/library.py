"""The policy library: the admission policies that come with gpuc, for the pods and workloads of tenants.

The folder `<name>/` of a policy contains policy.yaml, allowed.yaml and denied.yaml. The files allowed.yaml and
denied.yaml contain examples: objects that the policy must allow or deny. The comment above an object is the name of the
example. policy.yaml has these keys:

    title, why      one line each; `why` becomes an annotation of the constraints
    subject         a key of subjects.yaml; the policy gets the kinds and the variables of the subject
    kinds           [{apiGroups, kinds}], which replace the kinds of the subject
    variables       CEL expressions by name, in order
    validations     [{expression, message | messageExpression}]
    parameters      {name: {from: a value of the cluster, see facts.py, schema: OpenAPI v3, structural}}
    settings        OpenAPI v3 schemas of the keys that a spec can set under spec.policies.<name>
    sample          the parameters for the examples
    violations      [{example, podSecurity}]: examples of denied.yaml, by name, that violate this policy with all values
                    of the parameters, and that violate no other policy. `gpuc rehearse` creates them in all tenant
                    namespaces. podSecurity is baseline if the baseline level of Pod Security also denies the example

Policies are in CEL only, not in Rego: if an expression fails, the API server refuses the request, and both the API
server and gpuc can evaluate it. A policy reads only the object of the request and no other objects, so CEL is enough.

The folders of the library are in policies/ of this repository. The Python package contains their content as
library.json and examples.json, because an installed gpuc has no folder policies/, and because JSON is faster to read
than YAML. `make generate` writes both files, and a test fails if they are out of date. If policies/ of a fleet has a
folder with the name of a library policy, the policy of the fleet replaces the library policy.
"""

import hashlib
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct, json

TABLE = Path(__file__).parent / "library.json"
"""A file with the keys subjects, policies (by name), and digests (the SHA-256 of each policy.yaml, by name)."""

EXAMPLES = Path(__file__).parent / "examples.json"
"""A file with the texts of allowed.yaml and denied.yaml, by the name of the policy."""

VERDICTS = ("allowed", "denied")
VARIABLE = re.compile(r"\bvariables\s*\.\s*(\w+)")

Schema = dict[str, Any]
"""A structural OpenAPI v3 schema."""


class Parameter(Struct, frozen=True):
    """A parameter of a policy: its name, and the value of the cluster that it gets."""

    name: str
    fact: str
    """The fact of the model that is the value of the parameter: tenant.resources, settings.registries and so on."""
    schema: Schema


class Policy(Struct, frozen=True):
    """An admission policy, as its policy.yaml defines it."""

    name: str
    title: str
    why: str
    kinds: tuple[dict[str, list[str]], ...]
    """apiGroups and kinds of the objects that the policy checks. Wildcards are not used."""
    variables: dict[str, str]
    """CEL expressions by name. An expression uses only earlier variables. Unused variables are omitted."""
    validations: tuple[dict[str, str], ...]
    """Maps with the key expression, and the key message or messageExpression."""
    parameters: tuple[Parameter, ...]
    settings: dict[str, Schema]
    """Schemas of the settings in the spec, by key. A spec that uses the policy must have all of these keys."""
    sample: dict[str, Any]
    """The parameters with which the tests check the examples."""
    violations: tuple[dict[str, str], ...] = ()
    """Maps with the key example, and optionally podSecurity."""
    own_examples: Mapping[str, str] | None = None
    """The texts of allowed.yaml and denied.yaml of a policy of the fleet, by verdict; None for a library policy."""

    @property
    def kind(self) -> str:
        """The kind of the policy's constraints, for example GpucGpuLimits for the policy gpu-limits."""
        return "Gpuc" + "".join(word.capitalize() for word in self.name.split("-"))

    @property
    def is_per_tenant(self) -> bool:
        """Whether the values of the parameters differ between tenants."""
        return any(parameter.fact.startswith("tenant.") for parameter in self.parameters)

    @property
    def reads_user(self) -> bool:
        """Whether the policy reads the name or groups of the user who makes a request."""
        expressions = [*self.variables.values(), *(row["expression"] for row in self.validations)]
        return any("request.userInfo" in expression for expression in expressions)

    def example_text(self, verdict: str) -> str:
        """Returns the text of the policy's file allowed.yaml or denied.yaml.

        Args:
            verdict: "allowed" or "denied".
        """
        return _read(EXAMPLES)[self.name][verdict] if self.own_examples is None else self.own_examples[verdict]

    def match(self, namespaces: dict[str, Any]) -> dict[str, Any]:
        """Returns the key `match` of the policy's constraints: the objects that the policy checks.

        Args:
            namespaces: a label selector of namespaces.
        """
        match: dict[str, Any] = {"scope": "Namespaced", "kinds": list(self.kinds), "namespaceSelector": namespaces}
        if (self._includes("", "Pod") and self._includes("batch", "Job")) or self.reads_user:
            # The policy compares the pod template of a Job with the old Job. Gatekeeper treats a pod that it expands
            # from the Job as new, so the policy would deny updates of the Job that it must allow. A pod that Gatekeeper
            # expands also has the user of the Job, not the user of the controller that creates the pod.
            match["source"] = "Original"
        return match

    def _includes(self, group: str, kind: str) -> bool:
        return any(group in entry["apiGroups"] and kind in entry["kinds"] for entry in self.kinds)


@cache
def policies() -> dict[str, Policy]:
    """Returns the policies that come with gpuc, by name, sorted."""
    return {name: policy_of(name, content) for name, content in _read(TABLE)["policies"].items()}


@cache
def _read(file: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.decode(file.read_bytes())
    return content


def subjects() -> dict[str, Any]:
    """Returns the content of subjects.yaml by name: kinds that policies check, with CEL variables for these kinds."""
    rows: dict[str, Any] = _read(TABLE)["subjects"]
    return rows


def is_shipped(name: str, data: bytes) -> bool:
    """Returns whether a policy.yaml is an unchanged copy of the policy with this name that comes with gpuc."""
    return bool(_read(TABLE)["digests"].get(name) == hashlib.sha256(data).hexdigest())


def policy_of(name: str, content: dict[str, Any], own_examples: Mapping[str, str] | None = None) -> Policy:
    """Creates a Policy from the content of a policy.yaml.

    Args:
        own_examples: the texts of the examples of a policy of the fleet, by verdict.

    Raises:
        ValueError: if a key is missing, or if a key or the subject is unknown.
    """
    try:
        subject = subjects()[content["subject"]] if "subject" in content else {}
        validations = tuple(content["validations"])
        variables = subject.get("variables", {}) | content.get("variables", {})
        return Policy(
            name=name,
            title=content["title"],
            why=content["why"],
            kinds=tuple(content.get("kinds") or subject["kinds"]),
            variables=_used_variables(variables, validations),
            validations=validations,
            parameters=tuple(
                Parameter(key, entry["from"], entry["schema"]) for key, entry in content.get("parameters", {}).items()
            ),
            settings=content.get("settings", {}),
            sample=content.get("sample", {}),
            violations=tuple(content.get("violations", ())),
            own_examples=own_examples,
        )
    except KeyError as error:
        raise ValueError(f"policy {name}: the key {error} is missing or unknown") from None


def _used_variables(variables: dict[str, str], validations: tuple[dict[str, str], ...]) -> dict[str, str]:
    """Returns the variables that the validations use, directly or indirectly, in the order of their declaration."""
    unread = [text for validation in validations for text in validation.values()]
    used: set[str] = set()
    while unread:
        for name in VARIABLE.findall(unread.pop()):
            if name in variables and name not in used:
                used.add(name)
                unread.append(variables[name])
    return {name: expression for name, expression in variables.items() if name in used}
