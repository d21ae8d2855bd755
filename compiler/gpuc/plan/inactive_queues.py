"""ClusterQueues that Kueue sets to inactive, because an object that they name does not exist."""

from __future__ import annotations

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.kueue import GROUP
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet, dig, items


def inactive_reason(objects: ObjectSet, queue: Manifest) -> tuple[str, Path] | None:
    """Returns why a ClusterQueue is inactive, with a path in the ClusterQueue; None for an active ClusterQueue.

    A stopPolicy is not a reason: other impacts report it.

    Source: kueue v0.19.2 pkg/cache/scheduler/clusterqueue.go, inactiveReason
    """
    for g, group in items(dig(queue.body, "spec", "resourceGroups")):
        for f, row in items(dig(group, "flavors")):
            path: Path = ("spec", "resourceGroups", g, "flavors", f, "name")
            flavor = objects.find(GROUP, "ResourceFlavor", str(dig(row, "name")))
            if flavor is None:
                return f"ResourceFlavor {dig(row, 'name')} does not exist", path
            topology = dig(flavor.body, "spec", "topologyName")
            if topology is not None and objects.find(GROUP, "Topology", str(topology)) is None:
                return f"Topology {topology} of flavor {flavor.name} does not exist", path
    checks: Path = ("spec", "admissionChecksStrategy", "admissionChecks")
    for c, check in items(dig(queue.body, *checks)):
        if objects.find(GROUP, "AdmissionCheck", str(dig(check, "name"))) is None:
            return f"AdmissionCheck {dig(check, 'name')} does not exist", (*checks, c)
    return None
