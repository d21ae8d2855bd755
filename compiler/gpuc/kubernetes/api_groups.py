"""The names of API groups that several packages use. The group of Kueue is in kueue.py."""

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
    """Returns whether an API group comes from a CustomResourceDefinition and is not part of Kubernetes."""
    return "." in api_group and (not api_group.endswith(".k8s.io") or api_group.endswith(".x-k8s.io"))
