from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpuc.kubernetes.api_groups import CONSTRAINTS
from gpuc.verify import check
from gpuc.verify.references.reference import Reference

if TYPE_CHECKING:
    from gpuc.objects.object_finding import ObjectFinding
    from gpuc.verify.subject import Subject


@check("REF008", source="Gatekeeper v3.23, website/docs/howto.md")
def unknown_template(subject: Subject) -> Iterator[ObjectFinding]:
    """A constraint has no ConstraintTemplate, or a ValidatingAdmissionPolicyBinding has no policy.

    The policy is not enforced: the API server refuses the constraint, or the binding has no effect.
    """
    return subject.unresolved(unknown_template.rule)


_RULE = unknown_template.rule
ROWS = (
    Reference(f"{CONSTRAINTS}/*", "kind", "templates.gatekeeper.sh/ConstraintTemplate", _RULE),
    Reference(
        "admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding",
        "spec.policyName",
        "admissionregistration.k8s.io/ValidatingAdmissionPolicy",
        _RULE,
    ),
)
"""The fields of the references that the check covers."""
