"""The node pools in a set of objects, and a search for the pools that meet the requirements of a pod."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from gpuc.cluster.node_class import region_of
from gpuc.cluster.pool import Pool
from gpuc.kubernetes.api_groups import KARPENTER
from gpuc.kubernetes.node_pool import HOSTNAME, WELL_KNOWN, ZONE, normal
from gpuc.kubernetes.selector import Requirement, Selector
from gpuc.objects.object_set import ObjectSet, group
from gpuc.objects.selectors import equal_labels
from gpuc.spec.substrate import substrate_modules

_OTHER_NODES = frozenset(
    (
        ("", "Node"),
        ("cluster.x-k8s.io", "MachineDeployment"),
        ("cluster.x-k8s.io", "MachinePool"),
        ("eks.aws.upbound.io", "NodeGroup"),
        ("eks.services.k8s.aws", "Nodegroup"),
        ("infrastructure.cluster.x-k8s.io", "AWSManagedMachinePool"),
        ("machine.openshift.io", "MachineSet"),
    )
)


class Pools:
    """The NodePools in a set of objects, indexed by the labels of their nodes."""

    def __init__(self, objects: ObjectSet) -> None:
        found = [Pool(manifest, objects) for manifest in objects.of(KARPENTER, "NodePool")]
        for module in substrate_modules("reader"):
            found += module.read(objects)
        self.pools = tuple(found)
        region = region_of(zone for pool in self.pools for zone in pool.listed(ZONE))
        self._objects = objects
        self.keys = {*(key for pool in self.pools for key in pool.offer), *WELL_KNOWN, HOSTNAME}
        """The keys of all labels that any pool sets or restricts, or that all nodes have."""
        self.values: dict[str, dict[str, list[Pool]]] = {}
        """Pools by label key and listed value."""
        self._unlisted: dict[str, list[Pool]] = {}
        for pool in self.pools:
            pool.region = pool.region or region
            for key, domain in pool.offer.items():
                for value in domain.listed or ():
                    self.values.setdefault(key, {}).setdefault(value, []).append(pool)

    @cached_property
    def is_complete(self) -> bool:
        """Whether all nodes come from NodePools: no object of another kind creates nodes."""
        manifests = self._objects.manifests
        return self._objects.is_complete or not any((group(row), row.kind) in _OTHER_NODES for row in manifests)

    def candidates(self, term: Iterable[Requirement]) -> Sequence[Pool]:
        """Returns the pools that perhaps meet the requirements of a pod.

        The function only excludes pools that list other values of a label than the required values. To decide whether
        a pool of the result meets the requirements, call `NodeTemplate.mismatch`.
        """
        fewest: Sequence[Pool] = self.pools
        for wanted, domain in term:
            key = normal(wanted)
            if domain.listed is None or key not in self.values:
                continue
            if key not in self._unlisted:
                self._unlisted[key] = [pool for pool in self.pools if not pool.listed(key)]
            named = [pool for value in sorted(domain.listed) for pool in self.values[key].get(value, ())]
            possible = [*dict.fromkeys(named), *self._unlisted[key]]
            fewest = possible if len(possible) < len(fewest) else fewest
        return fewest

    def matching(self, wanted: Any) -> list[Pool]:
        """Returns the pools whose nodes can have all these labels."""
        return self.meeting(equal_labels(wanted))

    def meeting(self, term: Selector) -> list[Pool]:
        """Returns the pools whose nodes can meet all requirements of a pod."""
        return [pool for pool in self.candidates(term) if pool.mismatch(term) is None]
