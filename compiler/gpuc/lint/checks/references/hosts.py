"""Names of pods in DNS: the Service that pods with a subdomain need to find one another."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.diagnostics.finding import Severity, declare_rule
from gpuc.diagnostics.spelling import missing, misspelt, write
from gpuc.objects.index import Index
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import dig, group
from gpuc.objects.pods import Pods
from gpuc.verify.references.reference import NOT_IN_THESE_FILES, is_name

NO_SUBDOMAIN = declare_rule(
    "REF033",
    Severity.ERROR,
    "Pods have a subdomain of which there is no Service.",
    "No name of such a pod resolves: ranks that meet at pod-0.subdomain wait for one another until they give up.",
    "kubernetes v1.35, staging/src/k8s.io/endpointslice/util/controller_utils.go (ShouldSetHostname)",
)
_WITH_OWN_SERVICE = ("jobset.x-k8s.io", "leaderworkerset.x-k8s.io", "kubeflow.org", "ray.io", "serving.knative.dev")
"""API groups whose controllers make the Services of their pods."""


def findings(index: Index) -> Iterator[ObjectFinding]:
    """Pods whose subdomain is the name of no Service of their namespace."""
    for each in index.pods:
        name = dig(each.spec, "subdomain")
        if is_name(name) and group(each.manifest) not in _WITH_OWN_SERVICE:
            yield from _subdomain(each, name, index)


def _subdomain(each: Pods, name: str, index: Index) -> Iterator[ObjectFinding]:
    kind, home = ("", "Service"), each.manifest.namespace
    here = index.symbols.within(kind, home)
    if index.symbols.has(kind, name, home) or not (index.tree.is_complete or here):
        return
    near = misspelt(name, here)
    found = NO_SUBDOMAIN if index.tree.is_complete or near else NOT_IN_THESE_FILES
    message = missing("the Service", name, here, near) + ", so no name of these pods resolves"
    yield ObjectFinding(found, each.manifest, (*each.path, "spec", "subdomain"), message, write(near))
