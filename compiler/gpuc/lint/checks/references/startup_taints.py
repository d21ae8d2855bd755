"""Startup taints of node pools, and the agents that remove them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from gpuc.cluster.index import Index
from gpuc.cluster.pool import Pool
from gpuc.cluster.pool_fields import STARTUP_TAINTS
from gpuc.diagnostics.finding import Path, Severity, declare_rule
from gpuc.diagnostics.spelling import alternatives, misspelt, write
from gpuc.kubernetes.node_pool import normal
from gpuc.kubernetes.toleration import AGENTS, Taint, agent_of, tolerated
from gpuc.lint.checks import Findings, check
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, items, labels
from gpuc.objects.paths import matching_values, pattern
from gpuc.objects.pods import Pods
from gpuc.verify.references.names import REFERENCES
from gpuc.verify.references.reference import POD

UNREMOVED_TAINT = declare_rule(
    "REF025",
    Severity.ERROR,
    "No known agent and no pods of the input remove a startup taint of a node pool.",
    "Karpenter waits for the node forever. The node is never initialised and runs no work, but costs money.",
    "Karpenter v1.14.1, pkg/controllers/nodeclaim/lifecycle/initialization.go",
)
IDLE_REMOVER = declare_rule(
    "REF081",
    Severity.WARNING,
    "A node pool lacks the startup taint that a DaemonSet on its nodes removes.",
    "Pods start before the DaemonSet has prepared the node, and the command of the DaemonSet fails: kubectl finds no "
    "such taint.",
    "kubectl v0.35.4, pkg/cmd/taint/utils.go (deleteTaints)",
)
_MAPS = [pattern(row.path) for row in REFERENCES if (row.source, row.target) == (POD, "ConfigMap")]
"""Fields of a pod template that name the ConfigMaps of the pods."""
_REMOVED = re.compile(r"([\w.-]+/[\w.-]*\w)(?:=[^\s:]*)?(?::\w+)?-")


class Remover:
    """Pods that may remove taints from nodes: the pods tolerate the taint, or their containers mention the taint."""

    def __init__(self, pods: Pods, objects: ObjectSet) -> None:
        self._pods = pods
        self._objects = objects
        self._by_key = [toleration for toleration in pods.tolerations if toleration.key]

    def removes(self, taint: Taint, pool: Pool) -> bool:
        """Returns whether the pods may remove a taint from a pool's nodes.

        Pods that tolerate all taints count only if their containers or ConfigMaps mention the key of the taint, because
        agents of every kind tolerate all taints.
        """
        return self._may_run(pool) and (tolerated(taint, self._by_key) or self._mentions(taint))

    def _may_run(self, pool: Pool) -> bool:
        """Returns whether the pods can act on a pool's nodes. Only a DaemonSet has to run on the node itself."""
        if self._pods.manifest.kind != "DaemonSet":
            return True
        wanted = labels(dig(self._pods.spec, "nodeSelector")).items()
        known = ((pool.offer.get(normal(key)), value) for key, value in wanted)
        return all(domain is None or domain.allows(value) for domain, value in known)

    def _mentions(self, taint: Taint) -> bool:
        """Returns whether the pods' containers, or the ConfigMaps that the pods read, mention the key of a taint.

        A mention of the key with an effect counts only if the effect is that of the taint.
        """
        if taint.key not in self._strings:
            return False
        mention = rf"(?<![\w./-]){re.escape(taint.key)}(?![\w/]|[.-]\w)(?:=[^\s:]*)?(?::(No\w+|PreferNo\w+))?"
        return any(match[1] in (None, taint.effect) for match in re.finditer(mention, self._strings))

    @cached_property
    def _strings(self) -> str:
        """All strings of the containers and of the ConfigMaps that the pods read."""
        spec = self._pods.spec
        named = {
            name for path in _MAPS for _, name in matching_values(self._pods.template, path) if isinstance(name, str)
        }
        maps = (self._objects.find("", "ConfigMap", name, self._pods.manifest.namespace) for name in sorted(named))
        parts = [dig(spec, "initContainers"), dig(spec, "containers")]
        parts += [dig(config_map.body, "data") for config_map in maps if config_map]
        return "\n".join(text for part in parts for text in _texts(part))


@check(UNREMOVED_TAINT, IDLE_REMOVER)
def findings(objects: ObjectSet) -> Findings:
    """Yields findings about startup taints that no pods remove, and DaemonSets that remove taints of no pool."""
    index = objects.once(Index)
    if index.tree.is_complete and index.nodes.pools:
        for pods in index.pods:
            yield from _idle(pods, index)
    if not any(pool.startup_taints for pool in index.nodes.pools):
        return
    removers = [Remover(pods, index.tree) for pods in index.pods]
    for pool in index.nodes.pools:
        yield from _unremoved(pool, index, removers)


def _unremoved(pool: Pool, index: Index, removers: list[Remover]) -> Iterator[ObjectFinding]:
    for taint in pool.startup_taints:
        if agent_of(taint.key) or _has_readiness_rule(taint, index.tree):
            continue
        suggestion = misspelt(taint.key, AGENTS)
        if not (suggestion or index.tree.is_complete) or any(remover.removes(taint, pool) for remover in removers):
            continue
        path: Path = (*STARTUP_TAINTS, taint.index, "key")
        message = f"no known agent and no pods remove the taint {taint}{alternatives((), suggestion)}"
        yield ObjectFinding(UNREMOVED_TAINT, pool.manifest, path, message, write(suggestion))


def _idle(pods: Pods, index: Index) -> Iterator[ObjectFinding]:
    """Yields findings about node pools without the startup taint that a DaemonSet on their nodes removes."""
    wanted = labels(dig(pods.spec, "nodeSelector"))
    if pods.manifest.kind != "DaemonSet" or not any(key in index.nodes.values for key in wanted):
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


def _has_readiness_rule(taint: Taint, objects: ObjectSet) -> bool:
    """Returns whether a NodeReadinessRule removes the taint."""
    rules = objects.of("readiness.node.x-k8s.io", "NodeReadinessRule")
    return any(dig(rule.body, "spec", "taint", "key") == taint.key for rule in rules)


def _texts(value: Any) -> Iterator[str]:
    """Yields every string in a value of plain data (dict, list, str, int, float, bool or None)."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
