"""Label selectors over namespaces, services and pods that can find nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from gpuc.diagnostics.finding import Path, Severity, declare_rule
from gpuc.diagnostics.spelling import instead, missing, misspelt, write
from gpuc.kubernetes.selector import Selector, matches
from gpuc.manifest.manifest import Manifest
from gpuc.objects.index import Index
from gpuc.objects.namespace_labels import ALWAYS
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import NAMESPACE_NAME, dig, group, items, labels
from gpuc.objects.paths import pattern, places
from gpuc.objects.pods import JOB_NAME, JOBSET_NAME, REPLICATED_JOB
from gpuc.objects.selectors import equal_labels, selector, wanted_labels
from gpuc.verify.references.reference import NOT_IN_THESE_FILES

NO_NAMESPACE = declare_rule(
    "REF030",
    Severity.ERROR,
    "A selector finds no namespace.",
    "The policy holds nowhere, the rule lets nobody in, or the queue takes work from no namespace; nothing says so.",
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors",
)
CLOSED_QUEUE = declare_rule(
    "REF031",
    Severity.ERROR,
    "A LocalQueue's namespace is none that its ClusterQueue takes work from.",
    "Kueue holds all work of the LocalQueue as inadmissible. A ClusterQueue without a namespaceSelector takes none.",
    "Kueue v0.19.2, apis/kueue/v1beta2/clusterqueue_types.go (namespaceSelector)",
)
NO_PODS = declare_rule(
    "REF032",
    Severity.WARNING,
    "A selector finds none of the pods or services of its namespace, where its labels have other values.",
    "The service has no endpoints, the disruption budget or network policy guards nothing, nothing is scraped.",
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors",
)

NAMESPACE_SELECTORS: tuple[tuple[str, str], ...] = (
    ("kueue.x-k8s.io/ClusterQueue", "spec.namespaceSelector"),
    ("networking.k8s.io/NetworkPolicy", "spec.ingress[].from[].namespaceSelector"),
    ("networking.k8s.io/NetworkPolicy", "spec.egress[].to[].namespaceSelector"),
    ("constraints.gatekeeper.sh/*", "spec.match.namespaceSelector"),
    ("mutations.gatekeeper.sh/*", "spec.match.namespaceSelector"),
    ("admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding", "spec.matchResources.namespaceSelector"),
)
"""Kinds and places of label selectors over namespaces."""

POD_SELECTORS: tuple[tuple[str, str], ...] = (
    ("Service", "spec.selector"),
    ("policy/PodDisruptionBudget", "spec.selector"),
    ("networking.k8s.io/NetworkPolicy", "spec.podSelector"),
)
"""Kinds and places of label selectors over pods of the object's own namespace; a Service has a bare map of labels."""
_ADDED = (
    "apps.kubernetes.io/",
    "batch.kubernetes.io/",
    "controller-",
    "job-name",
    "jobset.sigs.k8s.io/",
    "leaderworkerset.sigs.k8s.io/",
    "pod-template-hash",
    "ray.io/",
    "statefulset.kubernetes.io/",
    "training.kubeflow.org/",
)
"""What labels begin with that controllers give pods."""
_OF_JOBS = frozenset(JOB_NAME)
_OF_JOBSETS = frozenset((JOBSET_NAME, REPLICATED_JOB))


def findings(index: Index) -> Iterator[ObjectFinding]:
    """Selectors that find nothing: over namespaces, of queues, over pods, of monitors."""
    if index.namespaces.has_objects:
        for manifest in index.tree.manifests:
            for kind, where in NAMESPACE_SELECTORS:
                if _is(manifest, kind):
                    for path, raw in places(manifest.body, pattern(where)):
                        yield from _namespaces(manifest, path, raw, index)
        yield from _queues(index)
    yield from _pods(index)
    yield from _monitors(index)


def _is(manifest: Manifest, kind: str) -> bool:
    api_group, _, name = kind.rpartition("/")
    return group(manifest) == api_group and name in ("*", manifest.kind)


def _namespaces(manifest: Manifest, path: Path, raw: Any, index: Index) -> Iterator[ObjectFinding]:
    known = index.namespaces
    if not isinstance(raw, dict) or not raw or known.index.select(selector(raw)):
        return
    for place, key, values in wanted_labels(raw, path):
        there = known.values(key)
        if any(value in there for value in values):
            continue
        if not there and (near := misspelt(key, known.keys)):
            is_key = place[-1] == key
            message = f'no namespace has the label "{key}"{instead((), near)}'
            yield ObjectFinding(NO_NAMESPACE, manifest, place, message, write(near) if is_key else "", is_key)
            continue
        near = misspelt(values[0], there) if len(values) == 1 else ""
        if near or (
            key != NAMESPACE_NAME and (there or index.tree.is_complete)
        ):  # others may make namespaces with a name
            found = NO_NAMESPACE if index.tree.is_complete or near else NOT_IN_THESE_FILES
            message = f'no namespace has {key}: "{" or ".join(values)}"{instead(there, near)}'
            yield ObjectFinding(found, manifest, place, message, write(near))


def _queues(index: Index) -> Iterator[ObjectFinding]:
    for local in index.tree.of("kueue.x-k8s.io", "LocalQueue"):
        name = dig(local.body, "spec", "clusterQueue")
        queue = index.tree.find("kueue.x-k8s.io", "ClusterQueue", name) if isinstance(name, str) else None
        own = index.tree.namespaces.get(local.namespace)
        if queue is None or own is None:
            continue
        raw = dig(queue.body, "spec", "namespaceSelector")
        reason = "has no namespaceSelector, and so takes work from no namespace"
        if isinstance(raw, dict):
            if matches(selector(raw), own):
                continue
            reason = f"does not select namespace {local.namespace}"
        yield ObjectFinding(CLOSED_QUEUE, local, ("spec", "clusterQueue"), f"ClusterQueue {name} {reason}")


Wanted = tuple[Path, str, list[str]]
"""Place, key and allowed values of a label."""


class _There(NamedTuple):
    """What a selector looks among."""

    what: str
    labels: list[dict[str, str]]
    closed: frozenset[str] = frozenset()
    """Labels of controllers whose values all follow from the objects; others of theirs are not judged."""
    is_complete: bool = False
    """Whether nobody makes further ones by hand."""


def _pods(index: Index) -> Iterator[ObjectFinding]:
    by_namespace: dict[str, list[dict[str, str]]] = {}
    for each in index.pods:
        by_namespace.setdefault(each.manifest.namespace, []).append(each.labels)
    kinds: dict[str, set[tuple[str, str]]] = {}
    for manifest in index.tree.manifests:
        kinds.setdefault(manifest.namespace, set()).add((group(manifest), manifest.kind))
    for kind, where in POD_SELECTORS:
        for manifest in index.tree.of(*_kind(kind)):
            home = manifest.namespace
            is_shared = home in ALWAYS - {"default"} and not index.tree.is_complete
            there = by_namespace.get(home, []) if not is_shared else []  # programs of others run there
            among = _There("pods", there, _closed(kinds[home]), index.tree.is_complete)
            for path, raw in places(manifest.body, pattern(where)):
                if kind == "Service":
                    wanted = [((*path, key), key, [value]) for key, value in labels(raw).items()]
                    yield from _labelled(manifest, wanted, equal_labels(raw), among)
                else:
                    yield from _labelled(manifest, list(wanted_labels(raw, path)), selector(raw), among)


def _closed(kinds: set[tuple[str, str]]) -> frozenset[str]:
    """The labels of Jobs and JobSets, where no controller makes any under a name of its own choice."""
    if any(api_group != "batch" and kind.endswith(("Job", "Workflow")) for api_group, kind in kinds):
        return frozenset()
    if ("batch", "CronJob") in kinds or ("jobset.x-k8s.io", "JobSet") in kinds:
        return _OF_JOBSETS
    return _OF_JOBSETS | _OF_JOBS


def _kind(text: str) -> tuple[str, str]:
    api_group, _, kind = text.rpartition("/")
    return api_group, kind


def _labelled(manifest: Manifest, asked: list[Wanted], selected: Selector, there: _There) -> Iterator[ObjectFinding]:
    """The finding of a selector none of whose wanted values is there, while its keys are."""
    wanted = [each for each in asked if each[1] in there.closed or not each[1].startswith(_ADDED)]
    if not wanted or any(matches(selected, own) for own in there.labels):
        return
    values = {key: {own[key] for own in there.labels if key in own} for _, key, _ in wanted}
    if not all(known or (there.is_complete and key in there.closed) for key, known in values.items()):
        yield from _nearly(manifest, wanted, there)
        return
    for place, key, seen in wanted:
        if not values[key] & set(seen):
            near = misspelt(seen[0], values[key]) if len(seen) == 1 else ""
            if key in there.closed and not (near or there.is_complete):
                continue  # people make Jobs by hand, whose names stand in no file
            message = f'no {there.what} here have {key}: "{" or ".join(seen)}"{instead(values[key], near)}'
            yield ObjectFinding(NO_PODS, manifest, place, message, write(near))


def _nearly(manifest: Manifest, wanted: list[Wanted], there: _There) -> Iterator[ObjectFinding]:
    """Keys that nothing has, where something has the wanted value by nearly that key."""
    keys = {key for own in there.labels for key in own}
    for place, key, seen in wanted:
        near = misspelt(key, keys) if key not in keys else ""
        if near and any(own.get(near) in seen for own in there.labels):
            is_key = place[-1] == key
            message = f'no {there.what} here have the label "{key}"{instead((), near)}'
            yield ObjectFinding(NO_PODS, manifest, place, message, write(near) if is_key else "", is_key)


def _monitors(index: Index) -> Iterator[ObjectFinding]:
    services = [(each.namespace, labels(each.labels)) for each in index.tree.of("", "Service")]
    templates = [(each.manifest.namespace, each.labels) for each in index.pods]
    for kind, what, known in (("ServiceMonitor", "services", services), ("PodMonitor", "pods", templates)):
        for monitor in index.tree.of("monitoring.coreos.com", kind):
            chosen = dig(monitor.body, "spec", "namespaceSelector")
            names = {name for _, name in items(dig(chosen, "matchNames")) if isinstance(name, str)}
            names = names or {monitor.namespace}
            is_any = dig(chosen, "any") is True
            there = _There(what, [own for namespace, own in known if is_any or namespace in names])
            raw = dig(monitor.body, "spec", "selector")
            yield from _labelled(monitor, list(wanted_labels(raw, ("spec", "selector"))), selector(raw), there)
            yield from _match_names(monitor, chosen, index)


def _match_names(monitor: Manifest, chosen: Any, index: Index) -> Iterator[ObjectFinding]:
    for number, name in items(dig(chosen, "matchNames")):
        known = index.namespaces.mentioned
        near = misspelt(name, known) if isinstance(name, str) and name not in known else ""
        if near:
            message = missing("the namespace", name, (), near)
            yield ObjectFinding(
                NO_NAMESPACE, monitor, ("spec", "namespaceSelector", "matchNames", number), message, write(near)
            )
