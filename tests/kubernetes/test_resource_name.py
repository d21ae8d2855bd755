"""The resource names of kinds are those of the API server and of the CustomResourceDefinitions."""

from __future__ import annotations

import pytest

from gpuc.catalog import schemas
from gpuc.kubernetes.resource_name import plural, resource_name


@pytest.mark.parametrize(
    ("group", "kind", "name"),
    [
        ("", "Endpoints", "endpoints"),
        ("", "ConfigMap", "configmaps"),
        ("batch", "Job", "jobs.batch"),
        ("networking.k8s.io", "NetworkPolicy", "networkpolicies.networking.k8s.io"),
        ("networking.k8s.io", "Ingress", "ingresses.networking.k8s.io"),
        ("networking.k8s.io", "IPAddress", "ipaddresses.networking.k8s.io"),
        ("storage.k8s.io", "StorageClass", "storageclasses.storage.k8s.io"),
        ("storage.k8s.io", "CSIStorageCapacity", "csistoragecapacities.storage.k8s.io"),
        ("discovery.k8s.io", "EndpointSlice", "endpointslices.discovery.k8s.io"),
        ("karpenter.sh", "NodeOverlay", "nodeoverlays.karpenter.sh"),
        ("mutations.gatekeeper.sh", "AssignMetadata", "assignmetadata.mutations.gatekeeper.sh"),
        ("example.com", "ServiceEndpoints", "serviceendpoints.example.com"),
    ],
)
def test_names(group: str, kind: str, name: str) -> None:
    """The names are those of k8s.io/kubernetes v1.35.4 api/discovery, and of the CustomResourceDefinitions."""
    assert resource_name(group, kind) == name


def test_the_plural_of_every_table_is_known() -> None:
    kinds = {*schemas.custom_kinds(), *schemas.builtin_kinds("1.35")}
    tables = [table for api, kind in kinds if (table := schemas.table(api, kind, "1.35")) and table.plural]
    assert len(tables) > 60
    assert [entry for entry in tables if plural(entry.group, entry.kind) != entry.plural] == []
