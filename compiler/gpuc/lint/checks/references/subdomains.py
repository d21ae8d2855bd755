"""Subdomains of pods: without a Service of the same name the DNS names of the pods do not resolve."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.cluster.index import Index
from gpuc.diagnostics.finding import Severity, declare_rule
from gpuc.diagnostics.spelling import missing, misspelt, write
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import dig, group
from gpuc.objects.pods import Pods
from gpuc.verify.references.reference import NOT_IN_THESE_FILES, is_name

NO_SUBDOMAIN = declare_rule(
    "REF033",
    Severity.ERROR,
    "No Service has the name of the pods' subdomain.",
    "The DNS names of the pods do not resolve: ranks that wait for pod-0.subdomain time out.",
    "kubernetes v1.35, staging/src/k8s.io/endpointslice/util/controller_utils.go (ShouldSetHostname)",
)
_WITH_OWN_SERVICE = ("jobset.x-k8s.io", "leaderworkerset.x-k8s.io", "kubeflow.org", "ray.io", "serving.knative.dev")
"""API groups whose controllers create the Service for their pods."""


def findings(index: Index) -> Iterator[ObjectFinding]:
    """Yields findings about pods whose subdomain is not the name of a Service in their namespace."""
    for pods in index.pods:
        name = dig(pods.spec, "subdomain")
        if is_name(name) and group(pods.manifest) not in _WITH_OWN_SERVICE:
            yield from _subdomain(pods, name, index)


def _subdomain(pods: Pods, name: str, index: Index) -> Iterator[ObjectFinding]:
    kind, namespace = ("", "Service"), pods.manifest.namespace
    services = index.symbols.names_in(kind, namespace)
    if index.symbols.has(kind, name, namespace) or not (index.tree.is_complete or services):
        return
    suggestion = misspelt(name, services)
    rule = NO_SUBDOMAIN if index.tree.is_complete or suggestion else NOT_IN_THESE_FILES
    message = missing("the Service", name, services, suggestion) + ", so the DNS names of these pods do not resolve"
    yield ObjectFinding(rule, pods.manifest, (*pods.path, "spec", "subdomain"), message, write(suggestion))
