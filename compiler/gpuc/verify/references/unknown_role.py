from __future__ import annotations

from gpuc.kubernetes.api_groups import RBAC
from gpuc.verify import Findings, check
from gpuc.verify.references.reference import TYPED, Reference
from gpuc.verify.subject import Subject


@check(
    "REF005", source="https://kubernetes.io/docs/reference/access-authn-authz/rbac/#rolebinding-and-clusterrolebinding"
)
def unknown_role(subject: Subject) -> Findings:
    """A binding refers to a role or a service account that does not exist.

    The API server accepts the binding, but the binding grants no permissions.
    """
    return subject.unresolved(unknown_role.rule)


ROWS = (
    Reference(f"{RBAC}/RoleBinding", "roleRef", TYPED),
    Reference(f"{RBAC}/ClusterRoleBinding", "roleRef", TYPED),
    *(
        Reference(f"{RBAC}/{kind}", "subjects[].name", "ServiceAccount", "namespace", ("kind", "ServiceAccount"))
        for kind in ("RoleBinding", "ClusterRoleBinding")
    ),
)
