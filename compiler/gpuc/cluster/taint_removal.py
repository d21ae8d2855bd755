"""Finds the controller or pods that remove the startup taints from the nodes of a pool.

The objects do not name the controller: every client with the right to change Nodes can remove taints.
"""

import re
from functools import cached_property

from gpuc.cluster.pool import Pool
from gpuc.kubernetes.toleration import Taint, agent_of, tolerated, untolerated
from gpuc.objects.object_set import ObjectSet, dig
from gpuc.objects.paths import matching_values, pattern, texts
from gpuc.objects.pods import CONFIG_MAPS, Pods, pods


def removing_agent(objects: ObjectSet, pool: Pool, taint: Taint) -> str:
    """Returns what removes a startup taint from the nodes of a pool; an empty text if nothing does.

    The result is a known controller, a NodeReadinessRule, or pods that may remove the taint.
    """
    if known := agent_of(taint.key):
        return known
    for rule in objects.of("readiness.node.x-k8s.io", "NodeReadinessRule"):
        if dig(rule.body, "spec", "taint", "key") == taint.key:
            return str(rule)
    removers = (remover for remover in objects.once(_candidates) if remover.removes(taint, pool))
    return next((str(remover.pods.manifest) for remover in removers), "")


def _candidates(objects: ObjectSet) -> "list[_Candidate]":
    return [_Candidate(found, objects) for found in pods(objects)]


class _Candidate:
    """Pods that may remove taints from nodes: the pods tolerate the taint, or their containers mention the taint."""

    def __init__(self, found: Pods, objects: ObjectSet) -> None:
        self.pods = found
        self._objects = objects
        self._by_key = [toleration for toleration in found.tolerations if toleration.key]

    def removes(self, taint: Taint, pool: Pool) -> bool:
        """Returns whether these pods may remove a taint from the nodes of a pool.

        Pods that tolerate all taints count only if their containers or ConfigMaps mention the key of the taint, because
        DaemonSets of all kinds tolerate all taints.
        """
        return (tolerated(taint, self._by_key) or self._mentions(taint)) and self._may_run(taint, pool)

    def _may_run(self, taint: Taint, pool: Pool) -> bool:
        """Returns whether the pods can act on a pool's nodes. Only a DaemonSet has to run on the node itself.

        Source: k8s.io/kubernetes v1.35.4 pkg/controller/daemon/daemon_controller.go, NodeShouldRunDaemonPod
        """
        if not self.pods.record.traits.is_per_node:
            return True
        if untolerated((taint, *pool.taints), self.pods.tolerations):
            return False
        return any(pool.mismatch(term, exists=True) is None for term in self.pods.terms)

    def _mentions(self, taint: Taint) -> bool:
        """Returns whether the pods' containers, or the ConfigMaps that the pods read, mention the key of a taint.

        A mention of the key with an effect counts only if the taint has this effect.
        """
        if taint.key not in self._strings:
            return False
        mention = rf"(?<![\w./-]){re.escape(taint.key)}(?![\w/]|[.-]\w)(?:=[^\s:]*)?(?::(No\w+|PreferNo\w+))?"
        return any(match[1] in (None, taint.effect) for match in re.finditer(mention, self._strings))

    @cached_property
    def _strings(self) -> str:
        """All strings of the containers and of the ConfigMaps that the pods read."""
        values = (value for path in CONFIG_MAPS for _, value in matching_values(self.pods.template, pattern(path)))
        names = sorted({name for name in values if isinstance(name, str)})
        maps = (self._objects.find("", "ConfigMap", name, self.pods.manifest.namespace) for name in names)
        parts = [dig(self.pods.spec, "initContainers"), dig(self.pods.spec, "containers")]
        parts += [dig(config_map.body, "data") for config_map in maps if config_map]
        return "\n".join(text for part in parts for _, text in texts(part))
