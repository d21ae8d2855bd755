"""How a rehearsal gets nodes that exist from the start, with the labels and taints of Node Feature Discovery."""

from collections.abc import Iterable
from typing import NamedTuple

from gpuc.kubernetes.node_pool import HOSTNAME
from gpuc.manifest.manifest import Body, Manifest
from gpuc.model import Cluster
from gpuc.objects.object_set import dig, items, labels
from gpuc.substrates.on_premises.output import OUTPUT, RULE_API
from gpuc.substrates.on_premises.reader import node_names
from gpuc.substrates.on_premises.section import Existing, machines
from gpuc_rehearsal.autoscaler import ExistingNodes
from gpuc_rehearsal.client import Client, Object, new_object
from gpuc_rehearsal.context import NODE
from gpuc_rehearsal.plane.kwok import FAKE_NODE

_RULE = (RULE_API, "NodeFeatureRule")
_OF_RULES = "gpuc.dev/rehearsal-labels"
"""Annotation of a node: the keys of the labels that rules gave it, with commas between them."""


class _Features(NamedTuple):
    """The labels and taints that rules give to a node."""

    labels: dict[str, str]
    taints: dict[tuple[str, str], Body]
    """Taints by key and effect."""

    def changes(self, old_keys: Iterable[str] = ()) -> Body:
        """Returns a merge patch for a node that sets its labels and taints, and removes labels with the old keys."""
        new_labels = {**dict.fromkeys(old_keys), **self.labels}
        metadata = {"labels": new_labels, "annotations": {_OF_RULES: ",".join(self.labels)}}
        return {"metadata": metadata, "spec": {"taints": list(self.taints.values())}}


def _features(rules: Iterable[Object]) -> dict[str, _Features]:
    """Returns the labels and taints that NodeFeatureRules give to nodes, by the name of the node.

    If two rules differ, the rule with the later name applies.
    """
    found: dict[str, _Features] = {}
    for document in sorted(rules, key=lambda document: str(document["metadata"]["name"])):
        for _, rule in items(dig(document, "spec", "rules")):
            for name in node_names(rule):
                features = found.setdefault(str(name), _Features({}, {}))
                features.labels.update(labels(dig(rule, "labels")))
                features.taints.update({(taint["key"], taint["effect"]): taint for taint in rule.get("taints") or ()})
    return found


def _nodes(cluster: Cluster) -> list[Object]:
    rules = [artifact for artifact in OUTPUT.artifacts(cluster) if isinstance(artifact, Manifest)]
    features = _features(manifest.document() for manifest in rules)
    fake, _, value = FAKE_NODE.partition("=")
    found = []
    for name, arch in ((name, pool.instances[0].arch) for pool in cluster.pools for name in machines(pool.spec).nodes):
        node = new_object(*NODE, name, **features[name].changes())
        node["metadata"]["labels"] |= {HOSTNAME: name, "kubernetes.io/os": "linux", "kubernetes.io/arch": arch}
        node["metadata"]["annotations"][fake] = value
        found.append(node)
    return found


def _pods(cluster: Cluster) -> int:
    existing = cluster.spec.cloud.section
    assert isinstance(existing, Existing)
    return existing.pods


def _follow(client: Client, cluster: Cluster) -> None:
    """Changes nodes as node feature discovery does within a minute after a change of rules.

    A node that no rule names any more loses labels and taints.
    """
    features = _features(client.list_all(*_RULE))
    present = {node["metadata"]["name"]: node["metadata"] for node in client.list_all(*NODE)}
    for name, metadata in present.items():
        old_keys = filter(None, metadata.get("annotations", {}).get(_OF_RULES, "").split(","))
        client.patch_object(new_object(*NODE, name), features.get(name, _Features({}, {})).changes(old_keys))
    for node in _nodes(cluster):
        if node["metadata"]["name"] not in present:
            client.create(node)


NODES = ExistingNodes(pool=_RULE, nodes=_nodes, pods=_pods, follow=_follow)
