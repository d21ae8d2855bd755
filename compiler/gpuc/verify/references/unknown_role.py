from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpuc.verify import check
from gpuc.verify.references.reference import SAID, Reference

if TYPE_CHECKING:
    from gpuc.objects.object_finding import ObjectFinding
    from gpuc.verify.subject import Subject

_RBAC = "rbac.authorization.k8s.io"


@check(
    "REF005",
    source="https://kubernetes.io/docs/reference/access-authn-authz/rbac/#rolebinding-and-clusterrolebinding",
)
def unknown_role(subject: Subject) -> Iterator[ObjectFinding]:
    """A binding names a role or an account that does not exist.

    The API server takes the binding and nobody gets a right from it.
    """
    return subject.unresolved(unknown_role.rule)


_FAULT = unknown_role.rule
ROWS = (
    Reference(f"{_RBAC}/RoleBinding", "roleRef", SAID, _FAULT),
    Reference(f"{_RBAC}/ClusterRoleBinding", "roleRef", SAID, _FAULT),
    *(
        Reference(
            f"{_RBAC}/{each}",
            "subjects[].name",
            "ServiceAccount",
            _FAULT,
            "namespace",
            ("kind", "ServiceAccount"),
        )
        for each in ("RoleBinding", "ClusterRoleBinding")
    ),
)
"""Every place at which an object names one."""
