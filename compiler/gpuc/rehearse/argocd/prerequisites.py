"""Prerequisites of the first sync: nodes for controllers, namespaces, and the configuration of Argo CD."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from gpuc.manifest.manifest import Body, Manifest
from gpuc.model import Cluster
from gpuc.rehearse.argocd.applications import Destination, missing_namespaces
from gpuc.rehearse.argocd.repository import documents
from gpuc.rehearse.client import Client, Object
from gpuc.rehearse.plane.kwok import FAKE_NODE

SYSTEM_NODES = 3
_CAPACITY = {"cpu": "64", "memory": "256Gi", "ephemeral-storage": "500Gi", "pods": "250"}
_TLS_SERVER_NAME = "localhost"
"""A host name in the certificate of every API server."""
SECRET_TYPE = "argocd.argoproj.io/secret-type"


def system_nodes(cluster: Cluster) -> Iterator[Object]:
    """The nodes of the managed node group, which run the controllers."""
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
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels, "annotations": {key: value}},
            "status": {"capacity": _CAPACITY, "allocatable": _CAPACITY},
        }


def namespaces(cluster: Cluster, synced: Iterable[Manifest]) -> list[Object]:
    """Namespaces that no Application creates: destinations, and the sources of tenants' ingress rules."""
    callers = {ingress.namespace for tenant in cluster.tenants for ingress in tenant.spec.network.ingress}
    names = {*missing_namespaces(synced), *callers}
    return [namespace(name) for name in sorted(names)]


def namespace(name: str) -> Object:
    """A namespace without labels."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def argo_definitions(folder: Path) -> list[bytes]:
    """The files with Argo CD's CustomResourceDefinitions."""
    return [file.read_bytes() for file in sorted(folder.glob("*-crd.yaml"))]


def configuration(folder: Path, name: str) -> Iterator[Object]:
    """The ConfigMaps and Secrets of an Argo CD installation in a namespace."""
    for file in sorted(folder.glob("argocd-*.yaml")):
        for document in documents(file):
            document["metadata"]["namespace"] = name
            yield document


def merged_health(values: Body) -> dict[str, str]:
    """The entries for argocd-cm in values of Argo CD's chart."""
    return {key: str(value) for key, value in values["configs"]["cm"].items()}


def cluster_secret(
    namespace_name: str,
    name: str,
    destination: Destination,
    proxy: str,
    authority: bytes,
    certificate: bytes,
    key: bytes,
) -> Object:
    """The cluster Secret for Argo CD: the server of the destinations, reached through the proxy.

    namespace_name is the namespace of Argo CD.
    """
    encoded = {"caData": authority, "certData": certificate, "keyData": key}
    tls: Mapping[str, str] = {field: base64.b64encode(content).decode() for field, content in encoded.items()}
    config = {"proxyUrl": proxy, "tlsClientConfig": {**tls, "insecure": False, "serverName": _TLS_SERVER_NAME}}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": f"cluster-{name}", "namespace": namespace_name, "labels": {SECRET_TYPE: "cluster"}},
        "type": "Opaque",
        "stringData": {
            "name": destination.name or name,
            "server": destination.server,
            "config": json.dumps(config),
        },
    }


def install_argo_cd(client: Client, folder: Path, name: str) -> None:
    """Applies the namespace and the configuration of Argo CD."""
    client.apply(namespace(name))
    for document in configuration(folder, name):
        client.apply(document)
