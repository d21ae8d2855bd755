"""Builds parts of the Gatekeeper objects of a policy: the CEL source of a ConstraintTemplate, ExpansionTemplates."""

from collections.abc import Iterator
from typing import Any

from gpuc.parts.workload_kinds import workload_kinds
from gpuc.policy.library import Policy


def template_source(policy: Policy) -> dict[str, Any]:
    """Returns the variables and validations in the form of a ConstraintTemplate."""
    variables = [{"name": name, "expression": text} for name, text in policy.variables.items()]
    return {
        "failurePolicy": "Fail",
        **({"variables": variables} if variables else {}),
        "validations": list(policy.validations),
    }


def expansion_templates() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the name and the spec of each ExpansionTemplate.

    With them, Gatekeeper rejects a Deployment or Job whose pods a policy would deny.
    """
    for kind in workload_kinds():
        if kind.traits.is_expanded:
            spec = {
                "applyTo": [{"groups": [kind.group], "versions": [kind.version], "kinds": [kind.kind]}],
                "templateSource": kind.templates[0],
                "generatedGVK": {"group": "", "version": "v1", "kind": "Pod"},
            }
            yield f"gpuc-{kind.kind.lower()}", spec
