"""Parts of the Gatekeeper objects of a policy: the CEL source of its ConstraintTemplate, and the ExpansionTemplates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpuc.kubernetes.pod_template import TEMPLATES
from gpuc.policy.library import Policy

_EXPANDED_KINDS = (("apps", "Deployment"), ("apps", "StatefulSet"), ("batch", "Job"), ("batch", "CronJob"))
"""Kinds with a pod template that Gatekeeper can expand.

The path to the pod template must not contain a list: Gatekeeper would deny every object of the kind. JobSets need such
a path, so the policies check the Jobs of a JobSet instead.
"""


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
    for group, kind in _EXPANDED_KINDS:
        spec = {
            "applyTo": [{"groups": [group], "versions": ["v1"], "kinds": [kind]}],
            "templateSource": TEMPLATES[f"{group}/{kind}"][0],
            "generatedGVK": {"group": "", "version": "v1", "kind": "Pod"},
        }
        yield f"gpuc-{kind.lower()}", spec
