import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from gpuc.cluster.flavors import ResourceFlavor, every_flavor
from gpuc.cluster.index import Index
from gpuc.cluster.pool import Pool, named
from gpuc.cluster.pool_fields import STARTUP_TAINTS, TAINTS
from gpuc.cluster.queue import from_objects
from gpuc.cluster.taint_removal import removing_agent
from gpuc.diagnostics.finding import Path, Rule
from gpuc.diagnostics.spelling import alternatives, misspelt, write
from gpuc.kubernetes.node_pool import (
    AWS_INSTANCE,
    HOSTNAME,
    INSTANCE_TYPE,
    NODE_POOL,
    WELL_KNOWN,
    is_well_known,
    normal,
)
from gpuc.kubernetes.toleration import AGENTS, Taint, Toleration, tolerated, untolerated
from gpuc.lint.checks import Findings, check, rule_of
from gpuc.lint.checks.references.gpu_configs import OF_CHART, operators
from gpuc.manifest.manifest import Manifest
from gpuc.model.names import OPERANDS_LABEL
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, items, labels, pairs
from gpuc.objects.pods import Pods
from gpuc.objects.selectors import tolerations

FLAVOR_KEPT_OFF = rule_of("REF022")
LEFT_TO_ADMISSION = rule_of("REF084")
UNKNOWN_NODE_TAINT = rule_of("REF023")
PODS_KEPT_OFF = rule_of("REF024")
MISSPELT_TAINT = rule_of("REF082")
OTHER_NODES_POSSIBLE = rule_of("REF085")
MISSING_TAINT = rule_of("REF028")
OPERATOR_KEPT_OFF = rule_of("REF015")
UNREMOVED_TAINT = rule_of("REF025")
IDLE_REMOVER = rule_of("REF081")
_ON_ALL_NODES = frozenset((*WELL_KNOWN, HOSTNAME)) - {NODE_POOL, INSTANCE_TYPE}
"""Labels that nodes outside of the node pools have too. A label of this kind selects no node pool."""
_OF_OTHERS = re.compile(r"(?:[\w.-]+\.)?(?:kubernetes\.io|k8s\.io|karpenter\.sh|azure\.com|google\.com)/.*")
"""Taints that Kubernetes, Karpenter and cloud providers add to nodes."""
_AWS = ("karpenter.k8s.aws", "eks.amazonaws.com")
"""API groups of node classes whose provider adds no GPU taint to nodes."""
_ACCELERATED = re.compile(r"(?:p|g|gr|trn|inf|dl)\d[\w-]*")
"""EC2 instance families with accelerators."""
Tolerations = tuple[Toleration, ...]
_DISCOVERY = "node-feature-discovery"
_FOUND_BY = {f"feature.node.kubernetes.io/pci-{name}.present" for name in ("10de", "0302_10de", "0300_10de")}
"""The labels by which the operator knows a node with GPUs. Node feature discovery sets the labels."""
_GPU_TAINT = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
_OF_WORKER = [{"key": "node-role.kubernetes.io/control-plane", "operator": "Equal", "effect": "NoSchedule"}, _GPU_TAINT]
"""The tolerations in the values of the chart."""
_REMOVED = re.compile(r"([\w.-]+/[\w.-]*\w)(?:=[^\s:]*)?(?::\w+)?-")


@check(
    FLAVOR_KEPT_OFF, LEFT_TO_ADMISSION, UNKNOWN_NODE_TAINT, PODS_KEPT_OFF, MISSPELT_TAINT, OTHER_NODES_POSSIBLE,
    MISSING_TAINT, OPERATOR_KEPT_OFF,
)  # fmt: skip
def findings(objects: ObjectSet) -> Findings:
    """Yields findings about taints that pods or flavors do not tolerate, and tolerations of taints that no node has."""
    index = objects.once(Index)
    if not index.nodes.pools:
        return
    yield from _pools_without_taint(index)
    yield from _kept_off_operator(index)
    queues = () if index.tree.is_complete else from_objects(index.tree).by_name.values()
    devices = frozenset(resource for queue in queues for resource in queue.covered)
    # DaemonSets are agents of nodes.
    work = () if index.tree.is_complete else (pods for pods in index.pods if not pods.record.traits.is_per_node)
    added = [toleration for pods in work for toleration in pods.tolerations if toleration.key]
    for flavor in index.tree.once(every_flavor):
        if flavor.labels and (pools := index.nodes.matching(flavor.labels)):
            if rule := _flavor_rule(flavor, index):
                yield from _flavor(flavor, pools, added, devices, rule)
            yield from _unknown_taints(flavor, pools)
    keys = {taint.key for pool in index.nodes.pools for taint in (*pool.taints, *pool.startup_taints)}
    for pods in index.pods:
        reported = list(_pods(pods, index))
        yield from reported or _misspelt_keys(pods, keys)


def _flavor_rule(flavor: ResourceFlavor, index: Index) -> Rule | None:
    """Returns the rule for a flavor that does not tolerate the taints of its node pools.

    If a node label is not well known, node pools of the input set it. Other nodes have such a label only if the input
    contains other nodes.
    """
    keys = set(map(normal, flavor.labels))
    if index.nodes.is_complete and not all(is_well_known(key) for key in keys):
        return FLAVOR_KEPT_OFF
    return _rule(keys, FLAVOR_KEPT_OFF, index)


def _rule(keys: Iterable[str], certain: Rule, index: Index) -> Rule | None:
    """Returns the rule for pods with node labels that do not tolerate the taints of all node pools with the labels.

    Returns None if all nodes have the labels. Partial input may lack nodes that have the same labels as a node pool.
    """
    selecting = set(keys) - _ON_ALL_NODES
    if index.tree.is_complete or NODE_POOL in selecting:
        return certain
    return OTHER_NODES_POSSIBLE if selecting else None


def _flavor(
    flavor: ResourceFlavor, pools: list[Pool], added: Iterable[Toleration], devices: frozenset[str], certain: Rule
) -> Findings:
    accepted = (*flavor.tolerations, *added)
    listed = set(map(str, flavor.taints))
    unmet = [[taint for taint in _unmet(pool, accepted) if str(taint) not in listed] for pool in pools]
    for taint in unmet[0] if all(unmet) else ():
        message = f"nodes of {named(pools[:1])} have the taint {taint}, which the flavor neither tolerates nor "
        path, fix = _intended(dig(flavor.manifest.body, "spec", "tolerations"), taint)
        is_device_taint = taint.key in devices and taint.effect == "NoSchedule" and not fix
        rule = LEFT_TO_ADMISSION if is_device_taint else certain
        yield ObjectFinding(rule, flavor.manifest, ("spec", *path), f"{message}lists", fix)


def _unmet(pool: Pool, accepted: Sequence[Toleration]) -> list[Taint]:
    return [taint for taint in pool.taints if taint.keeps_off and not tolerated(taint, accepted)]


def _intended(raw: Any, taint: Taint) -> tuple[Path, str]:
    """Returns the path of the toleration that was meant for a taint, and the fix."""
    for number, toleration in items(raw):
        key = dig(toleration, "key")
        if key == taint.key:
            field = "value" if dig(toleration, "effect") in (None, "", taint.effect) else "effect"
            return ("tolerations", number, field), write(str(getattr(taint, field)))
        if isinstance(key, str) and misspelt(key, [taint.key]):
            return ("tolerations", number, "key"), write(taint.key)
    return ("tolerations",), ""


def _unknown_taints(flavor: ResourceFlavor, pools: list[Pool]) -> Findings:
    """Yields findings about taints in nodeTaints that no node of the flavor has."""
    existing = sorted({str(taint) for pool in pools for taint in (*pool.taints, *pool.startup_taints)})
    for taint in flavor.taints:
        if str(taint) not in existing:
            others = f"; their taints are {', '.join(existing)}" if existing else ""
            message = f"nodes of {named(pools[:3])} do not have the taint {taint}{others}"
            yield ObjectFinding(UNKNOWN_NODE_TAINT, flavor.manifest, ("spec", "nodeTaints", taint.index), message)


def _pods(pods: Pods, index: Index) -> Findings:
    selector = dict(pairs(dig(pods.spec, "nodeSelector")))
    keys = {normal(key) for key in selector if isinstance(key, str)}
    rule = _rule(keys & index.nodes.values.keys(), PODS_KEPT_OFF, index)
    pools = index.nodes.matching(selector) if rule and keys & index.nodes.values.keys() else []
    # Kueue adds the tolerations of the flavor to the pods of the objects that use a runtime.
    if rule is None or not pools or pods.queue or pods.record.is_runtime:
        return
    unmet = [_unmet(pool, pods.tolerations) for pool in pools]
    requested = {name for _, name in pods.resources()}
    if all(unmet) and not (not index.tree.is_complete and all(taint.key in requested for taint in unmet[0])):
        names = ", ".join(str(taint) for taint in unmet[0])
        message = f"nodes of {named(pools[:1])} have the taint {names}, which the pods do not tolerate"
        yield ObjectFinding(rule, pods.manifest, (*pods.path, "spec", "tolerations"), message)


def _misspelt_keys(pods: Pods, keys: set[str]) -> Findings:
    """Yields findings about tolerations with a misspelt key, unless the pods tolerate the correct key too."""
    rows = items(dig(pods.spec, "tolerations"))
    tolerations = [(number, key) for number, row in rows if (key := dig(row, "key"))]
    known = {key for _, key in tolerations if isinstance(key, str)}
    for number, key in tolerations:
        if isinstance(key, str) and key not in keys and (suggestion := misspelt(key, keys)) and suggestion not in known:
            message = f'no node pool has the taint "{key}", did you mean "{suggestion}"'
            path: Path = (*pods.path, "spec", "tolerations", number, "key")
            yield ObjectFinding(MISSPELT_TAINT, pods.manifest, path, message, write(suggestion))


def _pools_without_taint(index: Index) -> Findings:
    """Yields findings about node pools without a taint that flavors or pods tolerate."""
    reported: set[tuple[str, str]] = set()
    for flavor in index.tree.once(every_flavor):
        yield from _lacking(flavor.manifest, flavor.labels, flavor.tolerations, index, reported)
    for pods in index.pods:
        if not pods.record.traits.is_per_node:
            yield from _lacking(pods.manifest, dig(pods.spec, "nodeSelector"), pods.tolerations, index, reported)


def _lacking(
    user: Manifest, selector: Any, accepted: Tolerations, index: Index, reported: set[tuple[str, str]]
) -> Findings:
    if not any(key in index.nodes.values for key in labels(selector)) or not index.nodes.is_complete:
        return
    pools = index.nodes.matching(selector)
    if all(untolerated(pool.taints, accepted) for pool in pools):  # the check of taints reports these pools
        return
    is_strict = not index.tree.is_complete or user.kind != "ResourceFlavor"
    if is_strict and not all(_is_untainted(pool) for pool in pools):
        return
    for key in _missing(accepted, pools):
        for pool in pools:
            if (pool.name, key) not in reported and not _is_in_user_data(key, pool, index):
                reported.add((pool.name, key))
                remaining = ", ".join(str(taint) for taint in pool.taints if taint.keeps_off)
                others = f"pods that tolerate {remaining}" if remaining else "all pods"
                message = f"{user} tolerates the taint {key}, which nodes of {named([pool])} do not have"
                message += f"; {others} may run on these nodes"
                yield ObjectFinding(MISSING_TAINT, pool.manifest, pool.place(TAINTS), message)


def _missing(accepted: Tolerations, pools: list[Pool]) -> Iterator[str]:
    """Yields the tolerated keys for which no pool has a taint that keeps pods off its nodes."""
    for key in dict.fromkeys(toleration.key for toleration in accepted if toleration.key):
        taints = [taint for pool in pools for taint in (*pool.taints, *pool.startup_taints) if taint.key == key]
        exists = any(taint.keeps_off or tolerated(taint, accepted) for taint in taints)
        if not exists and not _OF_OTHERS.fullmatch(key):
            yield key


def _is_untainted(pool: Pool) -> bool:
    """Returns whether a pool of AWS nodes with accelerators has no taint that keeps pods off its nodes."""
    group = pool.node_class[0] if pool.node_class else ""
    return group in _AWS and not any(taint.keeps_off for taint in pool.taints) and _is_accelerated(pool)


def _is_accelerated(pool: Pool) -> bool:
    for key in ("node.kubernetes.io/instance-type", f"{AWS_INSTANCE}family"):
        if known := pool.listed(key):
            return all(_ACCELERATED.fullmatch(name.partition(".")[0]) for name in known)
    return any(key.startswith((f"{AWS_INSTANCE}gpu-", f"{AWS_INSTANCE}accelerator-")) for key in pool.offer)


def _is_in_user_data(key: str, pool: Pool, index: Index) -> bool:
    """Returns whether the user data of a pool's node class mentions the key of the taint."""
    node_class = index.tree.find(*pool.node_class) if pool.node_class else None
    return key in str(dig(node_class.body, "spec", "userData")) if node_class else False


def _kept_off_operator(index: Index) -> Findings:
    """Yields findings about taints that the operands, or the program that finds nodes with GPUs, do not tolerate."""
    for values, policy in operators(index):
        raw, of_worker = (dig(values, *path, "tolerations") for path in (("daemonsets",), (_DISCOVERY, "worker")))
        if policy and (not isinstance(raw, list) or len(index.tree.of("nvidia.com", "ClusterPolicy")) > 1):
            continue
        operands = tolerations([_GPU_TAINT] if raw is None else raw)
        worker = tolerations(_OF_WORKER if of_worker is None else of_worker)
        has_worker = policy is None and dig(values, "nfd", "enabled") is not False
        of_gpus = (row for row in index.nodes.pools if row.lists_gpus and row.labels.get(OPERANDS_LABEL) != "false")
        for pool in of_gpus:
            if taint := untolerated(pool.taints, operands):
                message = f"daemonsets.tolerations in {OF_CHART} do not match the taint {taint}"
                if policy:
                    message = f"nodes of {named([pool])} have the taint {taint}, which these tolerations do not match"
            elif has_worker and _FOUND_BY.isdisjoint(pool.labels) and (taint := untolerated(pool.taints, worker)):
                message = f"{_DISCOVERY}.worker.tolerations in {OF_CHART} do not match the taint {taint}: without its "
                message += "labels, the operator sees no GPU on these nodes"
            if taint and policy:
                yield ObjectFinding(OPERATOR_KEPT_OFF, policy, ("spec", "daemonsets", "tolerations"), message)
            elif taint:
                path = (*pool.place(TAINTS), taint.index)
                yield ObjectFinding(OPERATOR_KEPT_OFF, pool.manifest, path, message, needs="one cluster")


@check(UNREMOVED_TAINT, IDLE_REMOVER)
def startup_taints(objects: ObjectSet) -> Findings:
    """Yields findings about startup taints that no pods remove, and DaemonSets that remove a taint of no node pool."""
    index = objects.once(Index)
    if index.tree.is_complete and index.nodes.pools:
        for pods in index.pods:
            yield from _idle(pods, index)
    tainted = [(pool, taint) for pool in index.nodes.pools for taint in pool.startup_taints]
    for pool, taint in tainted:
        suggestion = misspelt(taint.key, AGENTS)
        if not removing_agent(index.tree, pool, taint):
            path: Path = (*STARTUP_TAINTS, taint.index, "key")
            message = f"no known agent and no pods remove the taint {taint}{alternatives((), suggestion)}"
            needs = "" if suggestion else "all objects"
            yield ObjectFinding(UNREMOVED_TAINT, pool.manifest, path, message, write(suggestion), needs=needs)


def _idle(pods: Pods, index: Index) -> Findings:
    """Yields findings about node pools without the startup taint that a DaemonSet on their nodes removes."""
    wanted = labels(dig(pods.spec, "nodeSelector"))
    if not pods.record.traits.is_per_node or not any(key in index.nodes.values for key in wanted):
        return
    pools = index.nodes.matching(wanted)
    for key in _removed(pods):
        if not any(taint.key == key for pool in pools for taint in (*pool.startup_taints, *pool.taints)):
            for pool in pools:
                message = f"{pods.manifest} removes the taint {key} from nodes of NodePool {pool.name}, but the node "
                message += "pool has no such startup taint"
                yield ObjectFinding(IDLE_REMOVER, pool.manifest, STARTUP_TAINTS, message)


def _removed(pods: Pods) -> Iterator[str]:
    """Yields the keys of taints in commands such as kubectl taint node NAME KEY[=VALUE][:EFFECT]-."""
    for _, container in pods.containers():
        words = [word for part in ("command", "args") for _, word in items(dig(container, part))]
        texts = [word for word in words if isinstance(word, str)]
        if "taint" in texts and {"node", "nodes", "no"} & set(texts):
            yield from (match[1] for text in texts if (match := _REMOVED.fullmatch(text)))
