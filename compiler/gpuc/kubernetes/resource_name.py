"""The names of resources by kind."""

_IRREGULAR = {
    "gateway.gateway.networking.k8s.io": "gateways",
    "nodeoverlay.karpenter.sh": "nodeoverlays",
    "expansiontemplate.expansion.gatekeeper.sh": "expansiontemplate",
    **{f"{name}.mutations.gatekeeper.sh": name for name in ("assign", "assignimage", "assignmetadata", "modifyset")},
}
"""Plurals that CustomResourceDefinitions define differently from the rule of the API machinery."""


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
