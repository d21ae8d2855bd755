"""What has to exist before the first sync: nodes for controllers, namespaces, and Argo CD's own configuration."""

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
"""A name in the certificate of every API server of a rehearsal."""
SECRET_TYPE = "argocd.argoproj.io/secret-type"


def system_nodes(cluster: Cluster) -> Iterator[Object]:
    """The managed node group: nodes that Karpenter did not make, for the controllers."""
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
    """Namespaces that no Application makes: those of destinations, and those that tenants let in."""
    callers = {ingress.namespace for tenant in cluster.tenants for ingress in tenant.spec.network.ingress}
    names = {*missing_namespaces(synced), *callers}
    return [namespace(name) for name in sorted(names)]


def namespace(name: str) -> Object:
    """A namespace without labels."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def argo_definitions(folder: Path) -> list[bytes]:
    """Argo CD's CustomResourceDefinitions, as files of its module."""
    return [file.read_bytes() for file in sorted(folder.glob("*-crd.yaml"))]


def configuration(folder: Path, name: str) -> Iterator[Object]:
    """The ConfigMaps and Secrets of Argo CD's installation, in a namespace."""
    for file in sorted(folder.glob("argocd-*.yaml")):
        for document in documents(file):
            document["metadata"]["namespace"] = name
            yield document


def merged_health(values: Body) -> dict[str, str]:
    """What the values of Argo CD's own chart put into argocd-cm."""
    return {key: str(value) for key, value in values["configs"]["cm"].items()}


def cluster_secret(
    place: str, name: str, destination: Destination, proxy: str, authority: bytes, certificate: bytes, key: bytes
) -> Object:
    """How Argo CD knows a cluster: under the server of the destinations, by a proxy that leads to loopback.

    place is the namespace of Argo CD.
    """
    encoded = {"caData": authority, "certData": certificate, "keyData": key}
    tls: Mapping[str, str] = {field: base64.b64encode(content).decode() for field, content in encoded.items()}
    config = {"proxyUrl": proxy, "tlsClientConfig": {**tls, "insecure": False, "serverName": _TLS_SERVER_NAME}}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": f"cluster-{name}", "namespace": place, "labels": {SECRET_TYPE: "cluster"}},
        "type": "Opaque",
        "stringData": {
            "name": destination.name or name,
            "server": destination.server,
            "config": json.dumps(config),
        },
    }


def install_argo_cd(client: Client, folder: Path, name: str) -> None:
    """Applies namespace and configuration of Argo CD."""
    client.apply(namespace(name))
    for document in configuration(folder, name):
        client.apply(document)
