"""Unused: what no object of the tree refers to, of kinds that do nothing alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpuc.diagnostics.finding import Rule, Severity, declare_rule
from gpuc.objects.index import Index
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import dig, group, items
from gpuc.objects.symbol_table import Kind, kind_of
from gpuc.verify.references.names import uses

UNUSED_CAPACITY = declare_rule(
    "REF060",
    Severity.WARNING,
    "Nothing uses an object that gives work its place: a flavor, a queue, a cohort.",
    "No work reaches it. Most often its user names something else.",
)
UNUSED = declare_rule(
    "REF061",
    Severity.INFO,
    "Nothing uses an object that does nothing alone.",
    "It may wait for work that names it, or be left over.",
)


class Unused(NamedTuple):
    """That objects of a kind are there for others."""

    kind: Kind
    user: str
    """A kind of which the tree has to have objects; without any, the users live elsewhere."""
    rule: Rule
    message: str


_KUEUE = "kueue.x-k8s.io"
KINDS: tuple[Unused, ...] = tuple(
    Unused(kind_of(kind), user, rule, message)
    for kind, user, rule, message in (
        (f"{_KUEUE}/ResourceFlavor", f"{_KUEUE}/ClusterQueue", UNUSED_CAPACITY, "no ClusterQueue names this flavor"),
        (f"{_KUEUE}/ClusterQueue", f"{_KUEUE}/LocalQueue", UNUSED_CAPACITY, "no LocalQueue leads to this ClusterQueue"),
        (f"{_KUEUE}/Topology", f"{_KUEUE}/ResourceFlavor", UNUSED, "no ResourceFlavor names this topology"),
        (f"{_KUEUE}/AdmissionCheck", f"{_KUEUE}/ClusterQueue", UNUSED, "no ClusterQueue names this check"),
        (
            "karpenter.k8s.aws/EC2NodeClass",
            "karpenter.sh/NodePool",
            UNUSED_CAPACITY,
            "no NodePool names this node class",
        ),
        (
            "templates.gatekeeper.sh/ConstraintTemplate",
            "constraints.gatekeeper.sh/*",
            UNUSED,
            "no constraint is of its kind",
        ),
    )
)


def findings(index: Index) -> Iterator[ObjectFinding]:
    """Objects that nothing names, then cohorts without members, priorities, pools and ConfigMaps."""
    tree, used = index.tree, {(seen.kind, seen.name) for seen in uses(index)}
    groups = {group(manifest) for manifest in tree.manifests}
    for row in KINDS:
        api_group, user = kind_of(row.user)
        if (user == "*" and api_group in groups) or tree.has(api_group, user):
            for manifest in tree.of(*row.kind):
                name = index.symbols.name_of(manifest)
                if (row.kind, name) not in used:
                    yield ObjectFinding(row.rule, manifest, (), row.message)
    yield from _cohorts(index)
    yield from _priorities(index, used)
    yield from _pools(index)
    yield from _config_maps(index, used)


def _cohorts(index: Index) -> Iterator[ObjectFinding]:
    named: set[object] = set()
    for kind, keys in (("ClusterQueue", ("cohortName", "cohort")), ("Cohort", ("parentName", "parent"))):
        for manifest in index.tree.of(_KUEUE, kind):
            named |= {name for key in keys if isinstance(name := dig(manifest.body, "spec", key), str)}
    if index.tree.has(_KUEUE, "ClusterQueue"):
        for cohort in index.tree.of(_KUEUE, "Cohort"):
            if cohort.name not in named:
                yield ObjectFinding(UNUSED_CAPACITY, cohort, (), "no ClusterQueue and no Cohort is in this cohort")


def _priorities(index: Index, used: set[tuple[Kind, str]]) -> Iterator[ObjectFinding]:
    """Priority classes that no work names; where the tree has queues, users name them in what they submit."""
    kind = (_KUEUE, "WorkloadPriorityClass")
    if index.tree.has(_KUEUE, "LocalQueue") or not any(seen == kind for seen, _ in used):
        return
    for manifest in index.tree.of(*kind):
        if (kind, manifest.name) not in used:
            yield ObjectFinding(UNUSED, manifest, (), "no work of these files names this priority class")


def _pools(index: Index) -> Iterator[ObjectFinding]:
    flavors = index.tree.of(_KUEUE, "ResourceFlavor")
    if not flavors:
        return
    selected: set[str] = set()
    for flavor in flavors:
        labels = dig(flavor.body, "spec", "nodeLabels")
        if not labels:
            return  # a flavor without labels takes any node
        selected |= {pool.name for pool in index.nodes.matching(labels)}
    for pool in index.nodes.pools:
        if pool.name not in selected:
            from gpuc.rules.queues.capacity_without_owner import capacity_without_owner

            path = ("spec", "template", "metadata", "labels")
            yield ObjectFinding(capacity_without_owner.rule, pool.manifest, path, "no flavor selects these nodes")


def _config_maps(index: Index, used: set[tuple[Kind, str]]) -> Iterator[ObjectFinding]:
    """ConfigMaps beside pods that read others; those of namespaces with a queue are read by what users submit."""
    queued = {each.namespace for each in index.tree.of(_KUEUE, "LocalQueue")}
    reading = {each.manifest.namespace for each in index.pods if any(True for _ in items(dig(each.spec, "volumes")))}
    kind = ("", "ConfigMap")
    for manifest in index.tree.of(*kind):
        is_ours = manifest.namespace in reading - queued and not manifest.labels and not manifest.annotations
        if is_ours and (kind, manifest.name) not in used and not _is_mentioned(manifest.name, index):
            yield ObjectFinding(UNUSED, manifest, (), "no pods of these files read this ConfigMap")


def _is_mentioned(name: str, index: Index) -> bool:
    """Whether arguments or settings of any container speak of a name."""
    return any(name in str(each.spec) for each in index.pods)
