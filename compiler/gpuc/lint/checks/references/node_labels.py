import re
from typing import Any

from gpuc.cluster.flavors import ResourceFlavor, every_flavor
from gpuc.cluster.index import Index
from gpuc.cluster.instance_labels import TYPE_LABELS, all_types
from gpuc.cluster.pool import Pool
from gpuc.cluster.pool_fields import LABELS, REQUIREMENTS
from gpuc.cluster.pools import Pools
from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.spelling import alternatives, misspelt, write
from gpuc.kubernetes.api_groups import KARPENTER, KARPENTER_AWS
from gpuc.kubernetes.kueue import QUEUE_LABEL
from gpuc.kubernetes.node_pool import (
    AWS_INSTANCE,
    AWS_LABELS,
    HOSTNAME,
    INSTANCE_TYPE,
    WELL_KNOWN,
    is_restricted,
    is_well_known,
    normal,
)  # fmt: skip
from gpuc.kubernetes.selector import NODE_OPERATORS
from gpuc.lint.checks import Findings, check, rule_of
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, items, labels, pairs
from gpuc.objects.pods import Pods
from gpuc.objects.selectors import NODE_TERMS, valid_requirements
from gpuc.verify.references.reference import NOT_IN_THESE_FILES

FLAVOR_WITHOUT_NODES = rule_of("REF020")
PODS_WITHOUT_NODES = rule_of("REF021")
MISSPELT_LEVEL = rule_of("REF034")
NO_SUCH_LABEL = rule_of("REF088")
_SIZES = re.compile(r"nano|micro|small|medium|large|(?:\d+)?xlarge|metal(?:-\d+xl)?")
"""The sizes of EC2 instances.

Source: https://docs.aws.amazon.com/ec2/latest/instancetypes/instance-type-names.html
"""
_TYPE = re.compile(r"[a-z][a-z0-9-]*\.([a-z0-9-]+)")
_ADDED = re.compile(r"^(?:nvidia|tesla)-|(?<=\d)\.\d*x?large$")
"""What people add to the names of GPUs, and to those of families."""
_NOT_TOGETHER = "node pools set each of these labels, but no node pool sets all of them"


@check(FLAVOR_WITHOUT_NODES, PODS_WITHOUT_NODES, MISSPELT_LEVEL)
def findings(objects: ObjectSet) -> Findings:
    """Yields findings about node labels that topologies, flavors or pods use, but that no node of the input has."""
    index = objects.once(Index)
    yield from _levels(index)
    if not index.nodes.pools:
        return
    for flavor in index.tree.once(every_flavor):
        yield from _flavor(flavor, index)
    for pods in index.pods:
        if not pods.record.traits.is_per_node and isinstance(pods.spec, dict):
            yield from _selector(pods, index)
            yield from _affinity(pods, index)


def _flavor(flavor: ResourceFlavor, index: Index) -> Findings:
    nodes = index.nodes
    for key, value in _unmet(flavor.labels, nodes):
        message, suggestion, on_key = _nothing_gives(key, [value], nodes) if key else (_NOT_TOGETHER, "", False)
        if suggestion or nodes.is_complete:
            rule = FLAVOR_WITHOUT_NODES if index.tree.is_complete or suggestion else NOT_IN_THESE_FILES
            path: Path = ("spec", "nodeLabels", *filter(None, [key]))
            needs = FLAVOR_WITHOUT_NODES.needs
            yield ObjectFinding(rule, flavor.manifest, path, message, write(suggestion), on_key, needs)


def _levels(index: Index) -> Findings:
    """Yields findings about levels whose label no node pool sets, but is similar to a label of a node pool."""
    known = index.nodes.keys
    for topology in index.tree.of("kueue.x-k8s.io", "Topology"):
        for number, level in items(dig(topology.body, "spec", "levels")):
            key = dig(level, "nodeLabel")
            suggestion = misspelt(key, known) if isinstance(key, str) and normal(key) not in known else ""
            if suggestion:
                message = f'no node pool has the label "{key}", did you mean "{suggestion}"'
                path = ("spec", "levels", number, "nodeLabel")
                yield ObjectFinding(MISSPELT_LEVEL, topology, path, message, write(suggestion))


def _selector(pods: Pods, index: Index) -> Findings:
    path: Path = (*pods.path, "spec", "nodeSelector")
    for key, value in _unmet(dig(pods.spec, "nodeSelector"), index.nodes):
        if key:
            yield from _unmatched(pods, (*path, key), key, [value], index)
        elif _is_for_pools(pods, index):
            rule = PODS_WITHOUT_NODES if index.tree.is_complete else NOT_IN_THESE_FILES
            yield ObjectFinding(rule, pods.manifest, path, _NOT_TOGETHER, needs=PODS_WITHOUT_NODES.needs)


def _unmet(raw: Any, nodes: Pools) -> list[tuple[str, str]]:
    """Returns the labels of a map that no node pool sets; two empty strings if no node pool sets all of them."""
    wanted = labels(raw)
    if not wanted or nodes.matching(wanted):
        return []
    return [label for label in wanted.items() if not nodes.matching({label[0]: label[1]})] or [("", "")]


def _affinity(pods: Pods, index: Index) -> Findings:
    unmet: list[tuple[Path, Any]] = []
    for number, term in items(dig(pods.spec, *NODE_TERMS)):
        path: Path = (*pods.path, "spec", *NODE_TERMS, number, "matchExpressions")
        for position, row in items(dig(term, "matchExpressions")):
            # An invalid requirement counts as met, because the check of schemas reports the requirement.
            if not all(index.nodes.meeting((wanted,)) for wanted in valid_requirements([row], NODE_OPERATORS)):
                unmet.append(((*path, position), row))
                break
        else:
            return
    for path, requirement in unmet:
        values = [value for _, value in items(dig(requirement, "values")) if isinstance(value, str)]
        yield from _unmatched(pods, path, str(dig(requirement, "key")), values, index)


def _unmatched(pods: Pods, path: Path, key: str, values: list[str], index: Index) -> Findings:
    message, suggestion, on_key = _nothing_gives(key, values, index.nodes)
    if not suggestion and not _is_for_pools(pods, index):
        return
    rule = PODS_WITHOUT_NODES if index.tree.is_complete or suggestion else NOT_IN_THESE_FILES
    is_key = on_key and path[-1] == key
    fix, needs = write(suggestion) if is_key or not on_key else "", "" if suggestion else PODS_WITHOUT_NODES.needs
    yield ObjectFinding(rule, pods.manifest, path, message, fix, is_key, needs)


def _is_for_pools(pods: Pods, index: Index) -> bool:
    """Returns whether the pods are meant for nodes of the input's node pools.

    The cluster of partial input may have nodes with other labels.
    """
    if index.tree.is_complete:
        return True
    return index.nodes.is_complete and (QUEUE_LABEL in pods.manifest.labels or pods.wants_devices)


def _nothing_gives(key: str, values: list[str], nodes: Pools) -> tuple[str, str, bool]:
    """Returns a message about a label that no pool sets, a suggestion, and whether the suggestion is for the key."""
    known = {*nodes.values.get(normal(key), ()), *WELL_KNOWN.get(normal(key), ())}
    if known or normal(key) in nodes.keys:
        value = values[0] if len(values) == 1 else ""
        suggestion = misspelt(value, known)
        shown = value or " or ".join(values) or key
        return f'no node pool has {key}: "{shown}"{alternatives(known, suggestion)}', suggestion, False
    suggestion = misspelt(key, nodes.keys)
    return f'no node pool has the label "{key}"{alternatives((), suggestion)}', suggestion, True


@check(NO_SUCH_LABEL, kinds=("karpenter.sh/*", "karpenter.k8s.aws/*", "nfd.k8s-sigs.io/NodeFeatureRule"))
def of_karpenter(objects: ObjectSet) -> Findings:
    """Yields findings about labels and requirements in NodePools of Karpenter that no node can have."""
    for pool in objects.once(Index).nodes.pools:
        if not pool.manifest.api.startswith(f"{KARPENTER}/"):
            continue
        rows = items(dig(pool.manifest.body, *REQUIREMENTS))
        keys: list[tuple[Path, Any]] = [((*REQUIREMENTS, number, "key"), dig(row, "key")) for number, row in rows]
        keys += [((*LABELS, key), key) for key, _ in pairs(dig(pool.manifest.body, *LABELS))]
        for path, key in ((path, key) for path, key in keys if isinstance(key, str)):
            if message := _refused(key):
                yield ObjectFinding(NO_SUCH_LABEL, pool.manifest, path, message)
            elif pool.api_group == KARPENTER_AWS and (meant := _meant(key)):
                message = f'no instance type has the label "{key}"{alternatives((), meant)}'
                yield ObjectFinding(NO_SUCH_LABEL, pool.manifest, path, message, write(meant))
        yield from _values(pool) if pool.api_group == KARPENTER_AWS else ()


def _refused(key: str) -> str:
    """Returns why the API server refuses a label of a NodePool.

    Source: karpenter v1.14.1 pkg/apis/crds/karpenter.sh_nodepools.yaml (label domain "karpenter.sh" is restricted)
    """
    domain = key.rpartition("/")[0]
    if key != HOSTNAME and not (is_restricted(key) and f".{domain}".endswith(f".{KARPENTER}")):
        return ""
    return f"Karpenter reserves {key}, and the API server refuses it in a NodePool"


def _meant(key: str) -> str:
    """Returns the label of instance types whose name has another domain in a requirement; empty for other keys."""
    domain, _, name = key.rpartition("/")
    is_foreign = domain and not domain.endswith(("kubernetes.io", "k8s.io", "k8s.aws", "karpenter.sh"))
    if is_foreign or not name.startswith("instance-") or is_well_known(normal(key)):
        return ""
    own = f"{AWS_INSTANCE}{name.removeprefix('instance-')}"
    return own if own in AWS_LABELS else misspelt(own, AWS_LABELS)


def _values(pool: Pool) -> Findings:
    """Yields findings about values that no instance type has: of another form than EC2's names, or misspelt."""
    for number, row in items(dig(pool.manifest.body, *REQUIREMENTS)):
        key = normal(str(dig(row, "key")))
        known = pool.values(key, all_types(pool.catalog)) if key in TYPE_LABELS else ()
        for position, value in items(dig(row, "values")) if known else ():
            found = _TYPE.fullmatch(value) if isinstance(value, str) and key == INSTANCE_TYPE else None
            is_no_size = found is not None and not _SIZES.fullmatch(found[1])
            plain = _ADDED.sub("", value.lower()) if isinstance(value, str) and value not in known else ""
            meant = plain if plain in known else misspelt(plain, known)
            if is_no_size or (meant and key != INSTANCE_TYPE):
                reason = f": there is no size {found[1]}" if found else ""
                message = f'no instance type has {key}: "{value}"{reason}{alternatives((), meant)}'
                path = (*REQUIREMENTS, number, "values", position)
                yield ObjectFinding(NO_SUCH_LABEL, pool.manifest, path, message, write(meant))
