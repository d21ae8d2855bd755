"""Finds pools of existing nodes among objects: a NodeFeatureRule names the nodes, and gives them labels and taints."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from gpuc.catalog.records import InstanceType
from gpuc.cluster.pool import Pool
from gpuc.cluster.pool_fields import LABELS, REPLICAS, TAINTS
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import Amounts, amounts
from gpuc.kubernetes.node_pool import CAPACITY_TYPE, INSTANCE_TYPE, NODE_POOL, REGION, ZONE, ZONE_ID, Offer
from gpuc.kubernetes.selector import Domain, Requirement
from gpuc.manifest.manifest import Manifest
from gpuc.model.names import ALLOCATABLE, EXCLUDED, POOL_LABEL, SERVER_LABEL
from gpuc.objects.object_set import ObjectSet, dig, items, labels

_ABSENT = Domain(True, frozenset(), False)
_OF_CLOUDS = (NODE_POOL, CAPACITY_TYPE, INSTANCE_TYPE, REGION, ZONE, ZONE_ID)
"""Labels that a cloud or an autoscaler gives to nodes."""


def read(objects: ObjectSet) -> Iterator[Pool]:
    """Yields an ExistingPool for each rule, in a NodeFeatureRule, that gives named nodes the label of a pool."""
    for manifest in objects.of("nfd.k8s-sigs.io", "NodeFeatureRule"):
        for position, rule in items(dig(manifest.body, "spec", "rules")):
            if POOL_LABEL in labels(dig(rule, "labels")):
                yield ExistingPool(manifest, objects, position, rule)


class ExistingPool(Pool):
    """The existing nodes that one rule of a NodeFeatureRule names, as a node pool with a constant number of nodes."""

    substrate = "on_premises"

    kind_in_messages = "node pool"
    type_in_messages = "type of server"

    def __init__(self, manifest: Manifest, objects: ObjectSet, position: int, rule: Any) -> None:
        names = frozenset(str(name) for name in node_names(rule)) - _excluded(manifest)
        self._rule_labels = labels(dig(rule, "labels"))
        self._fields = {LABELS: self._rule_labels, TAINTS: dig(rule, "taints"), REPLICAS: len(names)}
        self._position = position
        self._declared = _declared(manifest)
        super().__init__(manifest, objects)
        self.name, self.labels, self.lifetime = self.of_spec, self._rule_labels, "Never"
        self.api_group, self.efa_interfaces = "", 0
        self.node_names = names
        """The names of the nodes that take pods."""

    def _at(self, path: Path) -> Any:
        return self._fields.get(path)

    def place(self, path: Path) -> Path:
        """Returns the path of labels, taints or node names in the rule; for another field, the path of the rule."""
        rule: Path = ("spec", "rules", self._position)
        for field, own in ((LABELS, "labels"), (TAINTS, "taints"), (REPLICAS, "matchFeatures")):
            if path[: len(field)] == field:
                return (*rule, own, *path[len(field) :])
        return rule

    @cached_property
    def offer(self) -> Offer:
        """The labels of the nodes, by key. Labels that only nodes of a cloud have, such as the region, are absent."""
        own = {key: Domain(False, frozenset((value,)), False) for key, value in self._rule_labels.items()}
        row = self.catalog.instance_type(self._rule_labels.get(SERVER_LABEL, ""))
        arch = {"kubernetes.io/arch": Domain(False, frozenset((row.arch,)), False)} if row else {}
        linux = {"kubernetes.io/os": Domain(False, frozenset(("linux",)), False)}
        return {**dict.fromkeys(_OF_CLOUDS, _ABSENT), **linux, **arch, **own}

    @cached_property
    def _names(self) -> tuple[list[str], list[str]]:
        server = self._rule_labels.get(SERVER_LABEL, "")
        is_known = self.catalog.instance_type(server) is not None and bool(self._declared)
        return ([server], []) if is_known else ([], [server] if server else [])

    @property
    def listed_types(self) -> list[str]:
        """A list with the server type; empty if the rule declares no resources, or if the catalog lacks the type."""
        return self._names[0]

    @property
    def is_known(self) -> bool:
        """Whether the rule declares the resources of the nodes, and the catalog has the server type of the nodes."""
        return bool(self._names[0])

    def hardware(self, name: str) -> Amounts:
        """Returns the resources that the rule declares for a node, as `allocatable` does; empty without resources."""
        return dict(self._declared)

    def allocatable(self, instance: InstanceType) -> Amounts:
        """Returns the allocatable resources of a node, as the rule declares them; empty if the rule declares none."""
        return dict(self._declared)

    def domain_nodes(self, level: str) -> int | None:
        """Returns the largest number of nodes that take pods and to which rules of the object give the same label."""
        rules = [(labels(dig(rule, "labels")), rule) for _, rule in items(dig(self.manifest.body, "spec", "rules"))]
        named = ((row[level], str(name)) for row, rule in rules if level in row for name in node_names(rule))
        sizes = Counter(value for value, name in named if name in self.node_names)
        return max(sizes.values(), default=super().domain_nodes(level))

    def holder(self, wanted: Requirement) -> tuple[Manifest, Path]:
        """Returns where the labels of the nodes are: the NodeFeatureRule, and the path of the labels in it."""
        return self.manifest, self.place(LABELS)


def node_names(rule: Any) -> list[Any]:
    """Returns the node names in a rule of a NodeFeatureRule; empty if the rule selects nodes in another way."""
    features = [feature for _, feature in items(dig(rule, "matchFeatures")) if dig(feature, "feature") == "system.name"]
    wanted = dig(features[0], "matchExpressions", "nodename") if len(features) == 1 else None
    values = dig(wanted, "value")
    return values if dig(wanted, "op") == "In" and isinstance(values, list) else []


def _excluded(manifest: Manifest) -> frozenset[str]:
    """Returns the names of the nodes that a rule of the object gives the taint of excluded nodes."""
    rules = [rule for _, rule in items(dig(manifest.body, "spec", "rules"))]
    tainted = [rule for rule in rules if any(dig(taint, "key") == EXCLUDED for _, taint in items(dig(rule, "taints")))]
    return frozenset(str(name) for rule in tainted for name in node_names(rule))


def _declared(manifest: Manifest) -> Mapping[str, int]:
    """Returns the resources in the annotation of gpuc; empty without a valid annotation."""
    try:
        return amounts(json.loads(manifest.annotations.get(ALLOCATABLE, "")))
    except ValueError:
        return {}
