"""The names of API resources by kind, for example "jobs" for Job."""

_IRREGULAR = {
    "gateway.gateway.networking.k8s.io": "gateways",
    "nodeoverlay.karpenter.sh": "nodeoverlays",
    "expansiontemplate.expansion.gatekeeper.sh": "expansiontemplate",
    **{f"{name}.mutations.gatekeeper.sh": name for name in ("assign", "assignimage", "assignmetadata", "modifyset")},
}
"""Plurals that CustomResourceDefinitions define differently from the rule of the API machinery."""


def resource_name(api_group: str, kind: str) -> str:
    """Returns the API resource of a kind with its group, as in RBAC: "jobs.batch" or "pods"."""
    return ".".join(filter(None, (plural(api_group, kind), api_group)))


def plural(api_group: str, kind: str) -> str:
    """Returns the API resource of a kind, for example "jobs", "networkpolicies" or "endpoints".

    For the kind of an unknown CustomResourceDefinition, returns the plural that Kubernetes would guess. The definition
    can have another plural.

    Source: k8s.io/apimachinery v0.35 pkg/api/meta/restmapper.go (UnsafeGuessKindToResource)
    """
    name = kind.lower()
    if name.endswith("endpoints"):
        return name
    regular = f"{name}es" if name.endswith("s") else f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"
    return _IRREGULAR.get(f"{name}.{api_group}", regular)
