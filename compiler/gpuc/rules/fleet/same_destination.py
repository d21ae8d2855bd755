from __future__ import annotations

from collections.abc import Iterator

from gpuc.rules import Owned, fleet_rule
from gpuc.spec.cluster import Spec


@fleet_rule("FLT002", source="argoproj/argo-cd v3.5.1 docs/operator-manual/declarative-setup.md, clusters")
def same_destination(spec: Spec) -> Iterator[Owned]:
    """Two specs have the same destination in Argo CD.

    Argo CD applies the objects of both specs to one cluster. A copied spec needs its own destination. Only
    https://kubernetes.default.svc and in-cluster can occur in several specs: each cluster has its own Argo CD. If two
    hubs know different clusters by the same name, accept the finding.
    """
    destination = spec.delivery.destination
    if not destination.is_own_cluster:
        key = "server" if destination.server else "name"
        value = destination.server or destination.name or ""
        yield Owned(("spec", "delivery", "destination", key), (key, value), f"Argo CD destination {value}")
