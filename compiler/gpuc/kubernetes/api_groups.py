"""API groups that several packages name, and the names of resources by kind. The group of Kueue is in kueue.py."""

from __future__ import annotations

from typing import Final

ADMISSION_REGISTRATION: Final = "admissionregistration.k8s.io"
ADMISSION_API: Final = f"{ADMISSION_REGISTRATION}/v1"
CONSTRAINTS: Final = "constraints.gatekeeper.sh"
CONSTRAINT_API: Final = f"{CONSTRAINTS}/v1beta1"
"""The apiVersion of all constraints. ConstraintTemplates define their kinds."""
TEMPLATES: Final = "templates.gatekeeper.sh"
KARPENTER: Final = "karpenter.sh"
KARPENTER_API: Final = f"{KARPENTER}/v1"
KARPENTER_AWS: Final = "karpenter.k8s.aws"
RBAC: Final = "rbac.authorization.k8s.io"
RBAC_API: Final = f"{RBAC}/v1"
STORAGE: Final = "storage.k8s.io"


def is_custom(api_group: str) -> bool:
    """Returns whether an API group is not part of Kubernetes."""
    return "." in api_group and (not api_group.endswith(".k8s.io") or api_group.endswith(".x-k8s.io"))


_IRREGULAR = {
    "nodeoverlay.karpenter.sh": "nodeoverlays",
    "expansiontemplate.expansion.gatekeeper.sh": "expansiontemplate",
    **{f"{name}.mutations.gatekeeper.sh": name for name in ("assign", "assignimage", "assignmetadata", "modifyset")},
}
"""Plurals that CustomResourceDefinitions of the release sets define differently from the rule of the API machinery."""


def resource_name(api_group: str, kind: str) -> str:
    """Returns the name of a kind's resource with its API group: "jobs.batch" or "networkpolicies.networking.k8s.io"."""
    return ".".join(filter(None, (plural(api_group, kind), api_group)))


def plural(api_group: str, kind: str) -> str:
    """Returns the name of a kind's resource: "jobs", "networkpolicies" or "endpoints".

    A CustomResourceDefinition that gpuc does not know can define another plural; the result is then the plural that
    the API machinery assumes.

    Source: k8s.io/apimachinery v0.35 pkg/api/meta/restmapper.go (UnsafeGuessKindToResource)
    """
    name = kind.lower()
    if name.endswith("endpoints"):
        return name
    regular = f"{name}es" if name.endswith("s") else f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"
    return _IRREGULAR.get(f"{name}.{api_group}", regular)
