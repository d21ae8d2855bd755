"""Objects that must exist before the first sync: nodes, namespaces and the configuration of Argo CD."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from gpuc.cluster.application import Destination, applications
from gpuc.manifest.manifest import Manifest
from gpuc.model import Cluster
from gpuc.model.names import SYSTEM_TAINT
from gpuc.rehearse.argocd.repository import documents
from gpuc.rehearse.client import Client, Object, new_object
from gpuc.rehearse.plane.kwok import FAKE_NODE

SYSTEM_NODES = 3
_CAPACITY = {"cpu": "64", "memory": "256Gi", "ephemeral-storage": "500Gi", "pods": "250"}
_TLS_SERVER_NAME = "localhost"
"""A host name that the certificate of every simulated API server contains."""
SECRET_TYPE = "argocd.argoproj.io/secret-type"


def system_nodes(cluster: Cluster) -> Iterator[Object]:
    """Yields the nodes of the managed node group, which run the controllers, with the taint of the cluster's README."""
    key, _, value = FAKE_NODE.partition("=")
    zones = cluster.aws.zones
    for number in range(SYSTEM_NODES):
        name = f"system-{number}"
        labels = {
            "kubernetes.io/hostname": name,
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
            "topology.kubernetes.io/zone": zones[number % len(zones)],
            "topology.kubernetes.io/region": cluster.aws.region,
        }
        metadata = {"labels": labels, "annotations": {key: value}}
        spec = {"taints": [{"key": SYSTEM_TAINT, "value": "true", "effect": "NoSchedule"}]}
        status = {"capacity": _CAPACITY, "allocatable": _CAPACITY}
        yield new_object("v1", "Node", name, metadata=metadata, spec=spec, status=status)


def required_namespaces(cluster: Cluster, synced: Iterable[Manifest]) -> list[Object]:
    """Returns the namespaces that no Application creates: destinations, and the sources of tenants' ingress rules."""
    found = applications(synced)
    created = {"default", "kube-system"}
    created |= {
        name for application in found for name in (application.created_namespace, application.manifest.namespace)
    }
    callers = {caller for tenant in cluster.tenants for caller in tenant.caller_namespaces}
    names = {application.destination.namespace for application in found} - created | callers
    return [new_object("v1", "Namespace", name) for name in sorted(names)]


def cluster_secret(
    namespace_name: str,
    name: str,
    destination: Destination,
    proxy: str,
    authority: bytes,
    certificate: bytes,
    key: bytes,
) -> Object:
    """Returns the cluster Secret of Argo CD for a cluster that Argo CD reaches through the proxy.

    Args:
        namespace_name: the namespace of Argo CD.
        name: the name of the cluster.
        destination: the destination of the cluster's Applications.
        proxy: the URL of the proxy.
        authority: the CA certificate of the API server, in PEM.
        certificate, key: the client certificate and its key, in PEM.
    """
    encoded = {"caData": authority, "certData": certificate, "keyData": key}
    tls: Mapping[str, str] = {field: base64.b64encode(content).decode() for field, content in encoded.items()}
    config = {"proxyUrl": proxy, "tlsClientConfig": {**tls, "insecure": False, "serverName": _TLS_SERVER_NAME}}
    data = {"name": destination.name or name, "server": destination.server, "config": json.dumps(config)}
    metadata = {"labels": {SECRET_TYPE: "cluster"}}
    return new_object(
        "v1", "Secret", f"cluster-{name}", namespace_name, metadata=metadata, type="Opaque", stringData=data
    )


def install_argo_cd(client: Client, folder: Path, namespace: str) -> None:
    """Applies the Namespace, the ConfigMaps and the Secrets of Argo CD. folder contains the files of the objects."""
    client.apply(new_object("v1", "Namespace", namespace))
    for file in sorted(folder.glob("argocd-*.yaml")):
        for document in documents(file):
            document["metadata"]["namespace"] = namespace
            client.apply(document)
