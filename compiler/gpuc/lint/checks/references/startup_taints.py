from __future__ import annotations

import re
from collections.abc import Iterator

from gpuc.cluster.index import Index
from gpuc.cluster.pool_fields import STARTUP_TAINTS
from gpuc.cluster.taint_removal import removing_agent
from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.spelling import alternatives, misspelt, write
from gpuc.kubernetes.toleration import AGENTS
from gpuc.lint.checks import Findings, check, rule_of
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, items, labels
from gpuc.objects.pods import Pods

UNREMOVED_TAINT = rule_of("REF025")
IDLE_REMOVER = rule_of("REF081")
_REMOVED = re.compile(r"([\w.-]+/[\w.-]*\w)(?:=[^\s:]*)?(?::\w+)?-")


@check(UNREMOVED_TAINT, IDLE_REMOVER)
def findings(objects: ObjectSet) -> Findings:
    """Yields findings about startup taints that no pods remove, and DaemonSets that remove taints of no pool."""
    index = objects.once(Index)
    if index.tree.is_complete and index.nodes.pools:
        for pods in index.pods:
            yield from _idle(pods, index)
    tainted = [(pool, taint) for pool in index.nodes.pools for taint in pool.startup_taints]
    for pool, taint in tainted:
        suggestion = misspelt(taint.key, AGENTS)
        if (suggestion or index.tree.is_complete) and not removing_agent(index.tree, pool, taint):
            path: Path = (*STARTUP_TAINTS, taint.index, "key")
            message = f"no known agent and no pods remove the taint {taint}{alternatives((), suggestion)}"
            yield ObjectFinding(UNREMOVED_TAINT, pool.manifest, path, message, write(suggestion))


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
