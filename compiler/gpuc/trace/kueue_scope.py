"""Whether Kueue takes some work at all: the kinds and the namespaces that its configuration names."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from gpuc.kubernetes.selector import matches
from gpuc.objects.embedded import document
from gpuc.objects.object_set import dig, items, pairs
from gpuc.objects.selectors import selector
from gpuc.trace.cluster_index import KUEUE, ClusterIndex
from gpuc.trace.work import QUEUE_LABEL, Work

_API = "config.kueue.x-k8s.io"
_IN_VALUES = ("kueue", "managerConfig", "controllerManagerConfigYaml")
DEFAULT_QUEUE = "default"
"""The LocalQueue of work that names none, where its namespace has one of this name.

Source: kubernetes-sigs/kueue v0.19.2 pkg/controller/jobframework/defaults.go
"""
_KINDS_OF_BATCH = "batch/job"


def instead(why: str, work: Work) -> str:
    """What to change for Kueue to take the work."""
    if QUEUE_LABEL in why:
        return f"name a LocalQueue by the label {QUEUE_LABEL}"
    return f"use a kind that Kueue manages, or add {framework(work)} to its frameworks"


def queue_of(site: ClusterIndex, work: Work) -> str:
    """The LocalQueue that some work is given to; empty where there is none."""
    has_default = site.tree.find(KUEUE, "LocalQueue", DEFAULT_QUEUE, work.namespace) is not None
    return work.queue or (DEFAULT_QUEUE if has_default else "")


def bypass(site: ClusterIndex, work: Work) -> str:
    """Why Kueue leaves some work alone, so that its pods go to the scheduler at once; empty where it takes it.

    Of a tree that does not say how Kueue is configured, kinds are taken to be managed, and work without a queue not.

    Source: kubernetes-sigs/kueue v0.19.2 apis/config/v1beta2/defaults.go; pkg/controller/jobframework/reconciler.go
    """
    configuration = _configuration(site)
    known = [str(each) for _, each in items(dig(configuration, "integrations", "frameworks"))] or [_KINDS_OF_BATCH]
    if configuration is not None and not _is_external(configuration, work) and framework(work) not in known:
        return f"Kueue does not manage kind {work.kind} here: its integrations.frameworks are {', '.join(known)}"
    if queue_of(site, work):
        return ""
    if configuration is None:
        return f"it has no label {QUEUE_LABEL}, without which Kueue leaves work alone by default"
    if dig(configuration, "manageJobsWithoutQueueName") is not True:
        return f"it has no label {QUEUE_LABEL}, and manageJobsWithoutQueueName is not set"
    labels = site.tree.namespaces.get(work.namespace)
    raw = dig(configuration, "managedJobsNamespaceSelector")
    if labels is not None and raw is not None and not matches(selector(raw), labels):
        return f"it has no label {QUEUE_LABEL}, and managedJobsNamespaceSelector leaves {work.namespace} out"
    return ""


def framework(work: Work) -> str:
    """The name of the integration for a kind."""
    kind = work.kind.lower()
    match work.api_group:
        case "":
            return kind
        case "batch":
            return _KINDS_OF_BATCH
        case "apps":
            return "pod" if kind == "replicaset" else kind
    return f"{work.api_group}/{kind}"


def _is_external(configuration: Any, work: Work) -> bool:
    """Whether another controller manages the kind for Kueue: Kind.version.group."""
    several = [str(each) for _, each in items(dig(configuration, "integrations", "externalFrameworks"))]
    return any(each.startswith(f"{work.kind}.") and each.endswith(f".{work.api_group}") for each in several)


@lru_cache(maxsize=1)
def _configuration(site: ClusterIndex) -> Any:
    """Kueue's configuration; None where the tree does not have it, or nobody can read it."""
    for text in _texts(site):
        found = document(site.tree, text)
        if str(dig(found, "apiVersion")).startswith(_API) and dig(found, "kind") == "Configuration":
            return found
    return None


def _texts(site: ClusterIndex) -> Iterator[str]:
    text = dig(site.tree.values, *_IN_VALUES)
    if isinstance(text, str):
        yield text
    for each in site.tree.of("", "ConfigMap"):
        yield from (str(text) for _, text in pairs(each.body.get("data")) if isinstance(text, str) and _API in text)
