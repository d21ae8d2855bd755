"""The labels and taints with which the nodes of a NodePool start.

Source: sigs.k8s.io/karpenter v1.14.1 pkg/controllers/provisioning/scheduling/nodeclaimtemplate.go
"""

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from gpuc.cluster.node_class import NodeClass, region_of
from gpuc.cluster.pool_fields import (
    LABELS,
    NODE_CLASS,
    REPLICAS,
    REQUIREMENTS,
    STARTUP_TAINTS,
    TAINTS,
    requirements,
)  # fmt: skip
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.api_groups import KARPENTER, KARPENTER_AWS
from gpuc.kubernetes.node_pool import NODE_POOL, REGION, ZONE, ZONE_ID, Offer, meets, normal, offer
from gpuc.kubernetes.selector import POOL_OPERATORS, Domain, Requirement, equals
from gpuc.manifest.manifest import Manifest
from gpuc.model.names import POOL_LABEL
from gpuc.objects.object_set import ObjectSet, dig, labels
from gpuc.objects.selectors import taints, valid_requirements

_SIMULATED = {f"{KARPENTER}/registered": "true", f"{KARPENTER}/initialized": "true"}
"""Labels that Karpenter gives to all nodes, and assumes when it schedules pods."""


class NodeTemplate:
    """The labels, taints and requirements that a NodePool and its node class set for the nodes of the pool."""

    def __init__(self, manifest: Manifest, objects: ObjectSet) -> None:
        self.manifest = manifest
        self.name = manifest.name
        self.catalog = objects.catalog
        api_group, kind, name = (self._at((*NODE_CLASS, key)) for key in ("group", "kind", "name"))
        texts = isinstance(api_group, str) and isinstance(kind, str) and isinstance(name, str)
        self.node_class = (api_group, kind, name) if texts else None
        """The API group, kind and name of the node class; None if the reference is incomplete."""
        of_class = {f"{api_group}/{kind.lower()}": name} if texts else {}
        self.labels: dict[str, str] = {**of_class, **labels(self._at(LABELS)), NODE_POOL: self.name}
        """The labels of all nodes of the pool, with the labels that Karpenter adds for the pool and the node class."""
        self.region = region_of(self.listed(ZONE))
        """The AWS region of the nodes; empty if it is unknown."""
        reference = self.node_class or (KARPENTER_AWS, "", "")
        self._class = NodeClass(reference[0], objects.find(*reference))
        self.api_group = self._class.api_group
        """The API group of the node class; the group of EC2NodeClass if the reference is incomplete."""
        self.efa_interfaces = self._class.efa_interfaces
        """The number of EFA devices of a node; None if the instance type decides."""
        self.of_spec = self.labels.get(POOL_LABEL, "")
        """The name of the pool in the spec of gpuc, which the nodes have as a label; empty without the label."""
        self.requirements = tuple(requirements(self._at(REQUIREMENTS)))
        """The requirements for the labels of the nodes, as in the object."""
        self.taints = taints(self._at(TAINTS))
        """The permanent taints of the nodes."""
        self.startup_taints = taints(self._at(STARTUP_TAINTS))
        """The taints that keep pods off until an agent removes the taints."""
        replicas = self._at(REPLICAS)
        self.replicas = replicas if isinstance(replicas, int) and not isinstance(replicas, bool) else None
        """The number of nodes of a static node pool; None for a pool that starts nodes for pending pods."""
        self.is_static = self.replicas is not None
        """Whether the pool has a fixed number of nodes, which start without pods and stay when they are empty."""

    def _at(self, path: Path) -> Any:
        return dig(self.manifest.body, *path)

    @cached_property
    def offer(self) -> Offer:
        """The possible values of the node labels that the NodePool sets or restricts."""
        own = valid_requirements(self._at(REQUIREMENTS), POOL_OPERATORS)
        return offer([*(equals(key, value) for key, value in {**_SIMULATED, **self.labels}.items()), *own])

    @cached_property
    def class_offer(self) -> Offer:
        """The possible values of the node labels that depend on the node class of the pool."""
        return self._class.offer(self.region)

    def listed(self, key: str) -> frozenset[str]:
        """Returns the values that the NodePool lists for a node label; empty if the NodePool lists none."""
        known = self.offer.get(key)
        return known.listed or frozenset() if known else frozenset()

    def possible_values(self, key: str) -> frozenset[str]:
        """Returns the values that the NodePool and its node class list for a label; empty if neither lists values."""
        known = [own[normal(key)] for own in (self.offer, self.class_offer) if normal(key) in own]
        return (known[0].meet(known[-1]).listed or frozenset()) if known else frozenset()

    def mismatch(self, term: Iterable[Requirement], *, exists: bool | None = None) -> Requirement | None:
        """Returns the first of a pod's requirements that no node of the pool can meet; None if nodes can meet them.

        Args:
            exists: whether the nodes exist before the pods; None: only the nodes of a static pool do.
        """
        wanted, is_there = tuple(term), self.is_static if exists is None else exists
        if len(wanted) > 1 and len(together := offer(wanted)) < len(wanted):  # a node has one value of a label
            wanted += tuple(Requirement(*row) for row in together.items())
        return next((row for row in wanted if not self._meets(row, exists=is_there)), self._class_conflict(wanted))

    def _meets(self, wanted: Requirement, *, exists: bool) -> bool:
        group = self.node_class[0] if self.node_class else ""
        return meets(self.offer, wanted, is_static=exists, api_group=group)

    def _class_conflict(self, requirements: Iterable[tuple[str, Domain]]) -> Requirement | None:
        """Returns the first requirement for a label that no node of the node class meets."""
        for key, domain in requirements:
            known = self.class_offer.get(normal(key))
            if known is not None and known.meet(domain).is_empty:
                return Requirement(key, domain)
        return None

    def holder(self, wanted: Requirement) -> tuple[Manifest, Path]:
        """Returns the object and the path whose value prevents that nodes meet a requirement.

        If no object sets the label of the requirement, returns the labels of the NodePool's template.
        """
        key = normal(wanted.key)
        if key == REGION and key not in self.offer:
            key = ZONE
        if key != ZONE and self._class.manifest is not None and self._meets(wanted, exists=self.is_static):
            return self._class.manifest, ("spec",)
        if wanted.key == NODE_POOL:
            return self.manifest, ("metadata", "name")
        for requirement in self.requirements:
            if requirement.key == key:
                return self.manifest, (*REQUIREMENTS, requirement.position)
        is_own = self._at((*LABELS, wanted.key)) is not None
        return self.manifest, (*LABELS, wanted.key) if is_own else LABELS

    def class_field(self, *path: str) -> tuple[Manifest, Path] | None:
        """Returns the node class and the path of a field in it; None without the field."""
        manifest = self._class.manifest
        return (manifest, path) if manifest is not None and dig(manifest.body, *path) is not None else None

    def unknown_location(self, term: Iterable[Requirement]) -> str:
        """Returns the requirement of a pod about a zone or region that the objects do not show; empty without one.

        The subnets of the node class decide in which zones a pool can start nodes.
        """
        known = {**self.class_offer, **self.offer}
        located = (row for row in term if normal(row.key) in (ZONE, ZONE_ID, REGION) and row.domain.listed is not None)
        return next((str(row) for row in located if normal(row.key) not in known), "")
