"""Creates parts of Gatekeeper's objects for policies: CEL sources of ConstraintTemplates, and ExpansionTemplates."""

from collections.abc import Iterator
from typing import Any

from gpuc.parts.workload_kinds import workload_kinds
from gpuc.policy.library import Policy


def template_source(policy: Policy) -> dict[str, Any]:
    """Returns the key `source` of a ConstraintTemplate, with the variables and validations of a policy."""
    variables = [{"name": name, "expression": text} for name, text in policy.variables.items()]
    return {
        "failurePolicy": "Fail",
        **({"variables": variables} if variables else {}),
        "validations": list(policy.validations),
    }


def expansion_templates() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the name and the spec of an ExpansionTemplate for each kind of workloads that needs one.

    With an ExpansionTemplate, Gatekeeper rejects a Deployment or Job whose pods a policy would deny.
    """
    for kind in workload_kinds():
        if kind.traits.is_expanded:
            spec = {
                "applyTo": [{"groups": [kind.group], "versions": [kind.version], "kinds": [kind.kind]}],
                "templateSource": kind.templates[0],
                "generatedGVK": {"group": "", "version": "v1", "kind": "Pod"},
            }
            yield f"gpuc-{kind.kind.lower()}", spec
