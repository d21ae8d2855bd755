"""Creates objects through which a tenant gets traffic: allowed objects, and objects with a refused annotation."""

from collections.abc import Iterator
from itertools import product
from typing import Any

from gpuc.catalog.annotations import FREE, annotations
from gpuc.emit.exposure import INTERNET, granted_annotations, granted_values
from gpuc.model import Namespace
from gpuc_rehearsal.client import Object, new_object
from gpuc_rehearsal.sample_workloads import SampleObject, WorkloadFactory

_GATEWAY_API = "gateway.networking.k8s.io"
ROUTES = ((_GATEWAY_API, "HTTPRoute"), (_GATEWAY_API, "GRPCRoute"), (_GATEWAY_API, "TLSRoute"))
OTHER = "other.invalid"
"""A value that no spec grants: a host, a group, a class, a certificate."""


def is_of_members(namespace: Namespace, document: Object) -> bool:
    """Returns whether members of a namespace (roles edit and admin) may write objects of the same kind as an object."""
    kind = document["apiVersion"].rpartition("/")[0], document["kind"]
    own = [("", "Service"), ("networking.k8s.io", "Ingress")]
    return kind in own or (bool(namespace.spec.exposed.gateways) and kind in ROUTES)


def granted_samples(factory: WorkloadFactory) -> Iterator[SampleObject]:
    """Yields objects, such as an Ingress, that use the hosts, annotations and Gateways that the spec grants."""
    values = granted_values(factory.namespace)
    hosts = [host.replace("*", "rehearsal") for host in values.get("hosts", ())]
    keys = {key: text for key, text in _granted_annotations(factory.namespace, values) if hosts or values}
    for name in values.get("externalNames", ()):
        spec: Object = {"type": "ExternalName", "externalName": name.replace("*", "rehearsal")}
        yield _sample(factory, "Service of a granted external name", "v1", "Service", spec)
    if keys:
        yield _sample(factory, "Service with granted annotations", "v1", "Service", {"ports": [{"port": 80}]}, keys)
    if hosts:
        classes, issuer = values.get("classes", []), {"name": values.get("issuers", [""])[0], "kind": "ClusterIssuer"}
        spec = ingress(hosts) | {"tls": [{"hosts": hosts, "secretName": "web"}]}
        spec |= {"ingressClassName": classes[0]} if classes and "/" not in classes[0] else {}
        yield _sample(factory, "Ingress with all that is granted", "networking.k8s.io/v1", "Ingress", spec, keys)
        endpoints = {"endpoints": [{"dnsName": host, "recordType": "A", "targets": ["10.0.0.1"]} for host in hosts]}
        yield _sample(factory, "DNS records of granted hosts", "externaldns.k8s.io/v1alpha1", "DNSEndpoint", endpoints)
        if issuer["name"]:
            spec = {"secretName": "web", "dnsNames": hosts, "issuerRef": issuer}
            yield _sample(factory, "Certificate of a granted issuer", "cert-manager.io/v1", "Certificate", spec)
        for gateway in values.get("gateways", ()):
            place, _, name = gateway.partition("/")
            spec = {"parentRefs": [{"namespace": place, "name": name}], "hostnames": hosts}
            yield _sample(factory, f"HTTPRoute of Gateway {gateway}", f"{_GATEWAY_API}/v1", "HTTPRoute", spec)


def refused_annotations(factory: WorkloadFactory) -> Iterator[SampleObject]:
    """Yields an Ingress for each annotation that the spec does not allow; nothing if the spec allows no hosts.

    If the spec does not allow traffic from the internet (`internetFacing`), also yields Services that would receive
    such traffic.
    """
    hosts = [host.replace("*", "rehearsal") for host in factory.namespace.spec.exposed.hosts]
    further = granted_annotations(factory.namespace)
    if not factory.namespace.spec.exposed.internet_facing:
        for entry, value in product(annotations(factory.cluster.spec.cloud.substrate.folder), INTERNET):
            if entry.use == "internetFacing":
                title = f"Service with {entry.key}: {value}"
                yield _sample(factory, title, "v1", "Service", {"ports": [{"port": 80}]}, {entry.key: value})
    prefixes = tuple(prefix for row in further for prefix in row["prefixes"])
    known = annotations(factory.cluster.spec.cloud.substrate.folder)
    keys = [entry.key.replace("*", "rehearsal") for entry in known if entry.use != FREE]
    unknown = [
        f"{prefix}rehearsal"
        for prefix in dict.fromkeys(entry.prefix for entry in known if not entry.key.endswith(entry.prefix + "*"))
    ]
    for key in dict.fromkeys([*keys, *unknown]) if hosts else ():
        if not key.startswith(prefixes) and not any(key in row["keys"] for row in further):
            title = f"Ingress with {key}"
            yield _sample(factory, title, "networking.k8s.io/v1", "Ingress", ingress(hosts), {key: OTHER})


def ingress(hosts: list[str]) -> Object:
    """Returns the spec of an Ingress that sends the requests for each of the hosts to the Service "web"."""
    backend = {"service": {"name": "web", "port": {"number": 80}}}
    http = {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}
    return {"rules": [{"host": host, "http": http} for host in hosts]}


def _granted_annotations(namespace: Namespace, values: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
    """Yields annotations with values that the spec grants, and annotations that the spec grants by key."""
    for entry in annotations():
        # The API server refuses the older annotation of a class together with ingressClassName.
        names = [name for name in values.get(entry.use, ()) if name not in INTERNET[1:]]
        if names and entry.key != "kubernetes.io/ingress.class":
            yield entry.key, ",".join(name.replace("*", "rehearsal") for name in names)
    for row in granted_annotations(namespace):
        yield from ((key, "any") for key in (*row["keys"], *(f"{prefix}rehearsal" for prefix in row["prefixes"])))


def _sample(
    factory: WorkloadFactory, title: str, api: str, kind: str, spec: Any, keys: dict[str, str] | None = None
) -> SampleObject:
    document = new_object(api, kind, "rehearsal-exposed", factory.namespace.name, spec=spec)
    if keys:
        document["metadata"]["annotations"] = keys
    return SampleObject(title, document)
