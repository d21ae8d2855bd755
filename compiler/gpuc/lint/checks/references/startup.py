"""Startup taints of node pools: what takes them away."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from gpuc.diagnostics.finding import Path, Severity, declare_rule
from gpuc.diagnostics.spelling import misspelt, write
from gpuc.kubernetes.node_pool import normal
from gpuc.kubernetes.startup_agents import AGENTS, agent_of
from gpuc.kubernetes.toleration import Taint, tolerated
from gpuc.objects.index import Index
from gpuc.objects.node_pools import Pool
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, items, labels
from gpuc.objects.paths import pattern, places
from gpuc.objects.pods import Pods

STARTUP_TAINT_STAYS = declare_rule(
    "REF025",
    Severity.ERROR,
    "Nothing takes a startup taint of a node pool away.",
    "Karpenter waits for the node without end: it never counts as initialised, takes no work, and costs what it costs.",
    "Karpenter v1.14.1, pkg/controllers/nodeclaim/lifecycle/initialization.go",
)
IDLE_REMOVER = declare_rule(
    "REF081",
    Severity.WARNING,
    "A node pool is without the startup taint that a DaemonSet on its nodes takes away.",
    "Pods start there before what the DaemonSet waits for is done, and its command ends with an error: kubectl finds "
    "no such taint.",
    "kubectl v0.35.4, pkg/cmd/taint/utils.go (deleteTaints)",
)
_MAPS = tuple(
    pattern(each)
    for each in (
        "volumes[].configMap.name",
        "volumes[].projected.sources[].configMap.name",
        "containers[].envFrom[].configMapRef.name",
        "containers[].env[].valueFrom.configMapKeyRef.name",
        "initContainers[].envFrom[].configMapRef.name",
        "initContainers[].env[].valueFrom.configMapKeyRef.name",
    )
)
"""Where pods name the ConfigMaps that they read."""
_TAKEN = re.compile(r"([\w.-]+/[\w.-]*\w)(?:=[^\s:]*)?(?::\w+)?-")
STARTUP_TAINTS: Path = ("spec", "template", "spec", "startupTaints")


class Remover:
    """Pods that may take taints of nodes away: they tolerate them, and say so."""

    def __init__(self, pods: Pods, tree: ObjectSet) -> None:
        self._pods = pods
        self._tree = tree
        self._by_key = [own for own in pods.tolerations if own.key]

    def removes(self, taint: Taint, pool: Pool) -> bool:
        """Whether they may be what a taint of a pool's nodes waits for.

        A toleration of everything says nothing: agents of every kind have it. Then the key has to stand in the text
        of their containers.
        """
        return self._may_run(pool) and (tolerated(taint, self._by_key) or self._speaks_of(taint))

    def _may_run(self, pool: Pool) -> bool:
        """Whether a DaemonSet can have pods on a pool's nodes; others act from anywhere."""
        if self._pods.manifest.kind != "DaemonSet":
            return True
        wanted = labels(dig(self._pods.spec, "nodeSelector")).items()
        known = ((pool.offer.get(normal(key)), value) for key, value in wanted)
        return all(domain is None or domain.holds(value) for domain, value in known)

    def _speaks_of(self, taint: Taint) -> bool:
        """Whether the key is in the text, with no other effect than the taint's."""
        if taint.key not in self._text:
            return False
        whole = rf"(?<![\w./-]){re.escape(taint.key)}(?![\w/]|[.-]\w)(?:=[^\s:]*)?(?::(No\w+|PreferNo\w+))?"
        return any(found[1] in (None, taint.effect) for found in re.finditer(whole, self._text))

    @cached_property
    def _text(self) -> str:
        spec = self._pods.spec
        named = {name for path in _MAPS for _, name in places(spec, path) if isinstance(name, str)}
        maps = (self._tree.find("", "ConfigMap", name, self._pods.manifest.namespace) for name in sorted(named))
        parts = [dig(spec, "initContainers"), dig(spec, "containers")]
        parts += [dig(each.body, "data") for each in maps if each]
        return "\n".join(text for part in parts for text in _texts(part))


def findings(index: Index) -> Iterator[ObjectFinding]:
    """Startup taints that stay; of a whole cluster, those that are taken away and not there."""
    if index.tree.is_complete and index.nodes.pools:
        for each in index.pods:
            yield from _idle(each, index)
    if not any(pool.startup_taints for pool in index.nodes.pools):
        return
    removers = [Remover(each, index.tree) for each in index.pods]
    for pool in index.nodes.pools:
        yield from _staying(pool, index, removers)


def _staying(pool: Pool, index: Index, removers: list[Remover]) -> Iterator[ObjectFinding]:
    for taint in pool.startup_taints:
        if agent_of(taint.key) or _is_ruled(taint, index.tree):
            continue
        near = misspelt(taint.key, AGENTS)
        if not (near or index.tree.is_complete) or any(each.removes(taint, pool) for each in removers):
            continue
        reason = f', did you mean "{near}"' if near else ": no agent is known for it, and no pods there speak of it"
        path: Path = (*STARTUP_TAINTS, taint.index, "key")
        yield ObjectFinding(
            STARTUP_TAINT_STAYS, pool.manifest, path, f"nothing takes {taint} away{reason}", write(near)
        )


def _idle(pods: Pods, index: Index) -> Iterator[ObjectFinding]:
    """Pools whose nodes a DaemonSet selects and frees of a taint that none of them starts with."""
    wanted = labels(dig(pods.spec, "nodeSelector"))
    if pods.manifest.kind != "DaemonSet" or not any(key in index.nodes.values for key in wanted):
        return
    pools = index.nodes.matching(wanted)
    for key in _taken(pods):
        if not any(taint.key == key for pool in pools for taint in (*pool.startup_taints, *pool.taints)):
            for pool in pools:
                message = f"{pods.manifest} takes the taint {key} off nodes of NodePool {pool.name}, which lacks it"
                yield ObjectFinding(IDLE_REMOVER, pool.manifest, STARTUP_TAINTS, message)


def _taken(pods: Pods) -> Iterator[str]:
    """Keys of taints that commands of kubectl take off nodes: kubectl taint node NAME KEY[=VALUE][:EFFECT]-."""
    for _, container in pods.containers():
        words = [word for part in ("command", "args") for _, word in items(dig(container, part))]
        texts = [word for word in words if isinstance(word, str)]
        if "taint" in texts and {"node", "nodes", "no"} & set(texts):
            yield from (found[1] for each in texts if (found := _TAKEN.fullmatch(each)))


def _is_ruled(taint: Taint, tree: ObjectSet) -> bool:
    """Whether a rule of the node readiness controller takes a taint away."""
    rules = tree.of("readiness.node.x-k8s.io", "NodeReadinessRule")
    return any(dig(rule.body, "spec", "taint", "key") == taint.key for rule in rules)


def _texts(value: Any) -> Iterator[str]:
    """Every text of plain data."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
