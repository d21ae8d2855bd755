"""Checks whether nodes accept the pods of the charts that a spec adds, as far as their Helm values show."""

from collections.abc import Iterator, Sequence
from typing import Any

from gpuc.cluster.pools import Pools
from gpuc.diagnostics.finding import Finding, Path, rule_table
from gpuc.diagnostics.place import place
from gpuc.kubernetes.kueue import QUEUE_LABEL
from gpuc.manifest.manifest import Artifact
from gpuc.model import Cluster
from gpuc.objects.object_set import emitted, items, pairs
from gpuc.objects.selectors import node_terms, tolerations
from gpuc.parts.workload_kinds import workload_kinds
from gpuc.verify.pod_nodes import SYSTEM_NODES, NodeGroup, Refusal, pool_nodes, refusal

rule_of = rule_table(__file__)
NOT_TOLERATED = rule_of("CHT006")
NO_LABELS = rule_of("CHT007")


def chart_findings(cluster: Cluster, artifacts: Sequence[Artifact]) -> Iterator[Finding]:
    """Yields findings about pods of added charts that no node accepts.

    Args:
        artifacts: all artifacts of the cluster, with the objects of users.
    """
    # The values do not show which pods belong to DaemonSets, which may select labels that nodes get after their start.
    pools = [pool_nodes(pool, after_boot=True) for pool in Pools(emitted(artifacts, cluster.catalog)).pools]
    with_pods = {kind.name for kind in workload_kinds() if kind.templates}
    for name, chart in cluster.spec.charts.items():
        if with_pods.isdisjoint(chart.kinds.namespaced):
            continue
        nodes = [*pools, SYSTEM_NODES] if chart.tenant else [SYSTEM_NODES, *pools]
        for at, reason in dict(_refusals(chart.values, nodes)).items():
            rule = NO_LABELS if reason.wanted else NOT_TOLERATED
            path = ("spec", "charts", name, *(("values", *at) if chart.values else ()))
            text = place(at) if at else "no tolerations"
            yield rule.at(path, f"values of {name}: {text}: {reason.message}", fix=reason.fix, on_key=not at)


def _refusals(values: dict[str, Any], nodes: Sequence[NodeGroup]) -> Iterator[tuple[Path, Refusal]]:
    """Yields the path of each Helm value with which no node takes the pods; an empty path for missing tolerations."""
    adds_tolerations = QUEUE_LABEL in str(values)  # Kueue adds those of the flavor
    has_tolerations = False
    for path, pod, key in _pods(values):
        has_tolerations |= bool(key)
        rows = pod.get(key, [])
        if "{{" in str([rows, pod.get("nodeSelector"), pod.get("affinity")]) or not isinstance(rows, list):
            continue  # not judged: only Helm knows the result of a template
        reason = refusal(nodes, node_terms(pod), tolerations(rows))
        if reason and (reason.wanted or (key and not adds_tolerations)):
            yield (*path, reason.field(pod) if reason.wanted else key), reason
    if not has_tolerations and not adds_tolerations and (reason := refusal(nodes, [()], [])):
        yield (), reason


def _pods(values: Any, path: Path = ()) -> Iterator[tuple[Path, dict[str, Any], str]]:
    """Yields the path and the map of the settings of pods, with the key of their tolerations; empty without them.

    Maps that `enabled: false` turns off have no pods.
    """
    if isinstance(values, dict) and values.get("enabled") is not False:
        keys = [key for key in values if str(key).lower().endswith("tolerations") and values[key] is not None]
        yield from ((path, values, key) for key in keys or [""])
        for key, value in pairs(values):
            yield from _pods(value, (*path, key))
    for number, item in items(values):
        yield from _pods(item, (*path, number))
