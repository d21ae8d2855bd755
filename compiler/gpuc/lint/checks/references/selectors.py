from typing import Any, NamedTuple

from gpuc.cluster.index import Index
from gpuc.cluster.monitor import Wanted, monitors
from gpuc.cluster.namespace import ALWAYS
from gpuc.cluster.queue import cluster_queue, from_objects
from gpuc.diagnostics.finding import Path, Rule
from gpuc.diagnostics.spelling import alternatives, missing, misspelt, write
from gpuc.kubernetes.selector import Selector, matches
from gpuc.lint.checks import Findings, check, rule_of
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import NAMESPACE_NAME, ObjectSet, by_first, group, home_namespace, labels
from gpuc.objects.paths import matching_values, pattern
from gpuc.objects.selectors import equal_labels, selector, wanted_labels
from gpuc.objects.symbol_table import kind_of
from gpuc.parts.folders import table_beside
from gpuc.parts.workload_kinds import label_prefixes, workload_kind, workload_kinds
from gpuc.verify.references.reference import NOT_IN_THESE_FILES

NO_NAMESPACE = rule_of("REF030")
CLOSED_QUEUE = rule_of("REF031")
NO_PODS = rule_of("REF032")
_TABLE = table_beside(__file__)
NAMESPACE_SELECTORS: list[tuple[str, str]] = _TABLE["namespaces"]
POD_SELECTORS: list[tuple[str, str]] = _TABLE["pods"]
"""Kinds and paths of label selectors over namespaces, and over pods in the object's own namespace."""


@check(NO_NAMESPACE, CLOSED_QUEUE, NO_PODS)
def findings(objects: ObjectSet) -> Findings:
    """Yields findings about selectors of policies, ClusterQueues, Services and monitors that match no object."""
    index = objects.once(Index)
    if index.namespaces.has_objects:
        for manifest in index.tree.manifests:
            for kind, field_path in NAMESPACE_SELECTORS:
                api_group, name = kind_of(kind)
                if group(manifest) == api_group and name in ("*", manifest.kind):
                    for path, raw in matching_values(manifest.body, pattern(field_path)):
                        yield from _namespaces(manifest, path, raw, index)
        yield from _queues(index)
    yield from _pods(index)
    yield from _monitors(index)


def _namespaces(manifest: Manifest, path: Path, raw: Any, index: Index) -> Findings:
    known = index.namespaces
    if not isinstance(raw, dict) or not raw or known.index.select(selector(raw)):
        return
    for label_path, key, values in wanted_labels(raw, path):
        existing = known.values(key)
        if any(value in existing for value in values):
            continue
        if not existing and (suggestion := misspelt(key, known.keys)):
            yield _misspelt_key(NO_NAMESPACE, manifest, label_path, key, "no namespace", suggestion)
            continue
        suggestion = misspelt(values[0], existing) if len(values) == 1 else ""
        # Namespaces of other files may have the name.
        if suggestion or (key != NAMESPACE_NAME and (existing or index.tree.is_complete)):
            rule = NO_NAMESPACE if index.tree.is_complete or suggestion else NOT_IN_THESE_FILES
            message = f'no namespace has {key}: "{" or ".join(values)}"{alternatives(existing, suggestion)}'
            yield ObjectFinding(rule, manifest, label_path, message, write(suggestion), needs=NO_NAMESPACE.needs)


def _queues(index: Index) -> Findings:
    for local in index.tree.of("kueue.x-k8s.io", "LocalQueue"):
        name = cluster_queue(local)
        queue, own = from_objects(index.tree).by_name.get(name), index.tree.namespaces.get(local.namespace)
        if queue is None or own is None:
            continue
        raw = queue.setting("namespaceSelector")
        reason = "has no namespaceSelector and therefore selects no namespace"
        if isinstance(raw, dict):
            if matches(selector(raw), own):
                continue
            reason = f"does not select namespace {local.namespace}"
        yield ObjectFinding(CLOSED_QUEUE, local, ("spec", "clusterQueue"), f"ClusterQueue {name} {reason}")


class _Candidates(NamedTuple):
    """The labels of the objects that a selector can match."""

    noun: str
    """The kind of the objects, as a plural noun for messages."""
    labels: list[dict[str, str]]
    closed: frozenset[str] = frozenset()
    """Labels from controllers whose values all follow from the objects. Other such labels are not checked."""
    is_complete: bool = False
    """Whether the input has all objects that the selector can match."""


def _pods(index: Index) -> Findings:
    by_namespace = by_first((home_namespace(pods.manifest), pods.labels) for pods in index.pods)
    rows = ((home_namespace(manifest), (group(manifest), manifest.kind)) for manifest in index.tree.manifests)
    kinds = {namespace: set(found) for namespace, found in by_first(rows).items()}
    for kind, field_path in POD_SELECTORS:
        for manifest in index.tree.of(*kind_of(kind)):
            namespace = home_namespace(manifest)
            is_shared = namespace in ALWAYS - {"default"} and not index.tree.is_complete
            own = by_namespace.get(namespace, []) if not is_shared else []  # other programs run there
            candidates = _Candidates("pods", own, _closed(kinds[namespace]), index.tree.is_complete)
            for path, raw in matching_values(manifest.body, pattern(field_path)):
                if kind == "Service":
                    wanted = [((*path, key), key, [value]) for key, value in labels(raw).items()]
                    yield from _labelled(manifest, wanted, equal_labels(raw), candidates)
                else:
                    yield from _labelled(manifest, list(wanted_labels(raw, path)), selector(raw), candidates)


def _closed(kinds: set[tuple[str, str]]) -> frozenset[str]:
    """Returns the keys of labels that controllers set, if the input shows all values of these labels.

    The values are unknown if an object in the namespace, such as a CronJob, may create objects of the kind.
    """
    if any(api_group != "batch" and kind.endswith(("Job", "Workflow")) for api_group, kind in kinds):
        return frozenset()
    created = {child.kind for kind in kinds if (child := workload_kind(*kind).child)}
    known = (kind for kind in workload_kinds() if (kind.group, kind.kind) not in created)
    return frozenset(key for kind in known for key in kind.labels.known)


def _labelled(
    manifest: Manifest, selected_labels: list[Wanted], selected: Selector, candidates: _Candidates
) -> Findings:
    """Yields findings about labels of a selector whose value no candidate has, if candidates have all keys."""
    wanted = [
        label for label in selected_labels if label[1] in candidates.closed or not label[1].startswith(label_prefixes())
    ]
    if not wanted or any(matches(selected, own) for own in candidates.labels):
        return
    actual = {key: {own[key] for own in candidates.labels if key in own} for _, key, _ in wanted}
    if not all(known or (candidates.is_complete and key in candidates.closed) for key, known in actual.items()):
        yield from _misspelt_keys(manifest, wanted, candidates)
        return
    for path, key, values in wanted:
        if not actual[key] & set(values):
            suggestion = misspelt(values[0], actual[key]) if len(values) == 1 else ""
            if key in candidates.closed and not (suggestion or candidates.is_complete):
                continue  # users create Jobs whose names are in no file
            text = f'none of the {candidates.noun} has {key}: "{" or ".join(values)}"'
            message = f"{text}{alternatives(actual[key], suggestion)}"
            yield ObjectFinding(NO_PODS, manifest, path, message, write(suggestion))


def _misspelt_keys(manifest: Manifest, wanted: list[Wanted], candidates: _Candidates) -> Findings:
    """Yields findings about keys that no candidate has, if a candidate has the wanted value under a similar key."""
    keys = {key for own in candidates.labels for key in own}
    for path, key, values in wanted:
        suggestion = misspelt(key, keys) if key not in keys else ""
        if suggestion and any(own.get(suggestion) in values for own in candidates.labels):
            yield _misspelt_key(NO_PODS, manifest, path, key, f"none of the {candidates.noun}", suggestion)


def _misspelt_key(rule: Rule, manifest: Manifest, path: Path, key: str, nothing: str, suggestion: str) -> ObjectFinding:
    is_key = path[-1] == key
    message = f'{nothing} has the label "{key}"{alternatives((), suggestion)}'
    return ObjectFinding(rule, manifest, path, message, write(suggestion) if is_key else "", is_key, "")


def _monitors(index: Index) -> Findings:
    known = {
        "services": [(home_namespace(service), labels(service.labels)) for service in index.tree.of("", "Service")],
        "pods": [(home_namespace(pods.manifest), pods.labels) for pods in index.pods],
    }
    for monitor in index.tree.once(monitors):
        targets = [own for namespace, own in known[monitor.targets] if monitor.reads(namespace)]
        candidates = _Candidates(monitor.targets, targets)
        yield from _labelled(monitor.manifest, monitor.wanted, monitor.selector, candidates)
        namespaces = index.namespaces.mentioned
        for path, name in monitor.named:
            if name not in namespaces and (suggestion := misspelt(name, namespaces)):
                message = missing("the namespace", name, (), suggestion)
                yield ObjectFinding(NO_NAMESPACE, monitor.manifest, path, message, write(suggestion))
