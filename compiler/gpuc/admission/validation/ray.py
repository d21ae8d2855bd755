"""RayJobs and RayClusters: the CEL rules of their CustomResourceDefinitions that concern new objects.

KubeRay checks the rest in its controller, which sets the status of an invalid object.

Source: ray-project/kuberay v1.6.2 ray-operator/apis/ray/v1/rayjob_types.go, raycluster_types.go
"""

from __future__ import annotations

from typing import Any

from gpuc.admission.validation.problem import Problem, Problems, one_of
from gpuc.diagnostics.finding import Path
from gpuc.objects.object_set import dig, items

_MANAGERS = ("ray.io/kuberay-operator", "kueue.x-k8s.io/multikueue")


def ray_cluster(document: Any) -> Problems:
    """Checks a RayCluster."""
    yield from one_of(("spec", "managedBy"), dig(document, "spec", "managedBy"), _MANAGERS)


def ray_job(document: Any) -> Problems:
    """Checks a RayJob."""
    for path in (("spec", "managedBy"), ("spec", "rayClusterSpec", "managedBy")):
        yield from one_of(path, dig(document, *path), _MANAGERS)
    strategy, where = dig(document, "spec", "deletionStrategy"), ("spec", "deletionStrategy")
    if strategy is None:
        return
    old = [dig(strategy, name) is not None for name in ("onSuccess", "onFailure")]
    has_rules = dig(strategy, "deletionRules") is not None
    if (any(old) and has_rules) or not (all(old) or has_rules):
        yield Problem(where, "expected either onSuccess and onFailure, or deletionRules")
    for index, rule in items(dig(strategy, "deletionRules")):
        condition: Path = (*where, "deletionRules", index, "condition")
        states = [dig(rule, "condition", name) is not None for name in ("jobStatus", "jobDeploymentStatus")]
        if dig(rule, "condition") is not None and sum(states) != 1:
            yield Problem(condition, "expected exactly one of jobStatus and jobDeploymentStatus")
