"""Requirements on nodes that follow from the volumes of pods: zones of persistent volumes and storage classes.

Source: sigs.k8s.io/karpenter v1.14.1 pkg/controllers/provisioning/scheduling/volumetopology.go
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpuc.kubernetes.api_groups import STORAGE
from gpuc.kubernetes.selector import Requirement, Selector
from gpuc.objects.object_set import ObjectSet, dig, items
from gpuc.objects.selectors import node_terms
from gpuc.trace.workload import PodSet


def with_volume_terms(
    objects: ObjectSet, pods: PodSet, namespace: str, terms: tuple[Selector, ...]
) -> tuple[tuple[Selector, ...], str]:
    """Returns the node selector terms of a pod with the requirements of its volumes.

    Also returns a volume of which the input does not show the zone, in words; or an empty string.
    """
    for claim in _claims(objects, pods, namespace):
        volume, name = dig(claim, "volumeName"), dig(claim, "storageClassName")
        alternatives: tuple[Selector, ...] = ((),)
        if isinstance(volume, str) and volume:
            manifest = objects.find("", "PersistentVolume", volume)
            if manifest is None:
                return terms, f"the input does not show the zone of PersistentVolume {volume}"
            required = dig(manifest.body, "spec", "nodeAffinity", "required")
            affinity = {"requiredDuringSchedulingIgnoredDuringExecution": required}
            alternatives = node_terms({"affinity": {"nodeAffinity": affinity}})
        elif isinstance(name, str) and (manifest := objects.find(STORAGE, "StorageClass", name)) is not None:
            rows = [row for _, row in items(dig(manifest.body, "allowedTopologies"))]
            alternatives = tuple(tuple(_requirements(row)) for row in rows) or ((),)
        terms = tuple((*term, *more) for term in terms for more in alternatives)
    return terms, ""


def _claims(objects: ObjectSet, pods: PodSet, namespace: str) -> Iterator[Any]:
    """Yields the specs of the PersistentVolumeClaims of a pod that are in the input or that have a template."""
    yield from (dig(claim, "spec") for claim in pods.claims)
    for _, volume in items(dig(pods.pod, "volumes")):
        claim = dig(volume, "persistentVolumeClaim", "claimName")
        if isinstance(claim, str) and (manifest := objects.find("", "PersistentVolumeClaim", claim, namespace)):
            yield dig(manifest.body, "spec")
        yield dig(volume, "ephemeral", "volumeClaimTemplate", "spec")


def _requirements(topology: Any) -> Iterator[Requirement]:
    """Yields the requirements of one entry of allowedTopologies."""
    rows = [
        {**row, "operator": "In"} for _, row in items(dig(topology, "matchLabelExpressions")) if isinstance(row, dict)
    ]
    required = {"nodeSelectorTerms": [{"matchExpressions": rows}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    yield from node_terms({"affinity": affinity})[0]
