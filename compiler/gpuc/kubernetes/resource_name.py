"""The names of resources by kind."""

from __future__ import annotations


def resource_name(api_group: str, kind: str) -> str:
    """Returns the name of a kind's resource with its API group: "jobs.batch" or "networkpolicies.networking.k8s.io".

    A CustomResourceDefinition can define another plural; the result is the plural that the API machinery assumes.

    Source: k8s.io/apimachinery v0.35 pkg/api/meta/restmapper.go (UnsafeGuessKindToResource)
    """
    name = kind.lower()
    if name == "endpoints":
        return name
    plural = f"{name}es" if name.endswith("s") else f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"
    return ".".join(filter(None, (plural, api_group)))
