from __future__ import annotations

from gpuc.kubernetes.api_groups import CONSTRAINTS
from gpuc.verify import Findings, check
from gpuc.verify.references.reference import Reference
from gpuc.verify.subject import Subject


@check("REF008", source="Gatekeeper v3.23, website/docs/howto.md")
def unknown_template(subject: Subject) -> Findings:
    """A constraint has no ConstraintTemplate, or a ValidatingAdmissionPolicyBinding has no policy.

    The policy is not enforced: the API server refuses the constraint, or the binding has no effect.
    """
    return subject.unresolved(unknown_template.rule)


ROWS = (
    Reference(f"{CONSTRAINTS}/*", "kind", "templates.gatekeeper.sh/ConstraintTemplate"),
    Reference(
        "admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding",
        "spec.policyName",
        "admissionregistration.k8s.io/ValidatingAdmissionPolicy",
    ),
)
