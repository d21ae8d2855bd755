"""Parameters of the policies `exposure` and `exposure-annotations`, which limit how tenants expose workloads."""

from collections.abc import Collection
from typing import Any

from gpuc.catalog.annotations import FREE, GRANTED, annotations
from gpuc.model import Cluster, Namespace
from gpuc.objects.object_set import grouped

INTERNET = ("internet-facing", "false")
"""Values of the annotations `scheme` and `internal` that make a load balancer reachable from the internet."""
_LISTS = {
    "hosts": "hosts", "classes": "classes", "groups": "groups", "gateways": "gateways", "certificates": "certificates",
    "issuers": "issuers", "addresses": "addresses", "externalNames": "external_names",
}  # fmt: skip
"""The lists of `exposed` whose values objects may have, each with the name of the attribute in the model."""


FIELDS = ("hosts", "gateways", "classes", "addresses", "issuers", "externalNames")
"""The lists of `exposed` with values for fields of objects. The policy `exposure` reads the lists in this order."""


def granted_values(namespace: Namespace) -> dict[str, list[str]]:
    """Returns the lists in the section `exposed` of a namespace, such as `hosts`, by key, without empty lists."""
    exposed = namespace.spec.exposed
    values = {key: list(getattr(exposed, name)) for key, name in _LISTS.items()}
    values["internetFacing"] = list(INTERNET) if exposed.internet_facing else []
    return {key: names for key, names in values.items() if names}


def grants(namespace: Namespace, lists: Collection[str]) -> list[dict[str, Any]]:
    """Returns a map for each list in the section `exposed` of a namespace: the names, and the suffixes of wildcards.

    For example, the host www.example.com is a name, and *.example.com becomes the suffix .example.com.

    Args:
        lists: the keys of `exposed` whose values are returned.
    """
    return [
        {
            "namespace": namespace.name,
            "list": key,
            "names": [name for name in names if not name.startswith("*")],
            "suffixes": [name[1:] for name in names if name.startswith("*")],
        }
        for key, names in granted_values(namespace).items()
        if key in lists
    ]


def annotation_grants(cluster: Cluster) -> list[dict[str, Any]]:
    """Returns the values that `exposed` of each namespace allows in annotations of objects, in the form of `grants`."""
    lists = {row["list"] for row in annotation_values(cluster)}
    return [row for _, namespace in cluster.namespaces for row in grants(namespace, lists)]


def granted_annotations(namespace: Namespace) -> list[dict[str, Any]]:
    """Returns the annotations in `exposed.annotations` of a namespace, as one map; no map without annotations."""
    keys, prefixes = _split(namespace.spec.exposed.annotations)
    return [{"namespace": namespace.name, "keys": keys, "prefixes": prefixes}] if keys or prefixes else []


def known_annotations(cluster: Cluster) -> list[dict[str, Any]]:
    """Returns the annotations that every tenant may use, some only with certain values, by the controller's domain."""
    found, known = [], annotations(cluster.spec.cloud.substrate.folder)
    for domain, entries in grouped(known, lambda entry: entry.prefix).items():
        usable = [entry.key.removeprefix(domain) for entry in entries if entry.use != GRANTED]
        names, prefixes = _split(usable)
        found.append({"domain": domain, "names": names, "prefixes": prefixes})
    return found


def annotation_values(cluster: Cluster) -> list[dict[str, str]]:
    """Returns the annotations whose values must be in a list of `exposed`, each with the key of this list."""
    known = annotations(cluster.spec.cloud.substrate.folder)
    return [{"key": entry.key, "list": entry.use} for entry in known if entry.use not in (FREE, GRANTED)]


def _split(keys: list[str]) -> tuple[list[str], list[str]]:
    """Returns the keys without "*", and the texts before "*" of the other keys."""
    return [key for key in keys if not key.endswith("*")], [key[:-1] for key in keys if key.endswith("*")]
