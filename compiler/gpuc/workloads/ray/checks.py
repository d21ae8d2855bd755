"""Checks of Ray kinds that are more than a row of a table.

Source: ray-project/kuberay v1.6.2 ray-operator/apis/ray/v1; kubernetes-sigs/kueue v0.19.2 pkg/controller/jobs/ray*
"""

from __future__ import annotations

from gpuc.admission.validation.field import Field, Problems, count_or_one
from gpuc.admission.validation.kueue import ELASTIC
from gpuc.admission.validation.kueue_topology import ANNOTATIONS, pod_set, topology_of_groups

_POD_SETS_MAX = 18


def _deletion_strategy(strategy: Field) -> Problems:
    old = [strategy.get(name) is not None for name in ("onSuccess", "onFailure")]
    has_rules = strategy.get("deletionRules") is not None
    if (any(old) and has_rules) or not (all(old) or has_rules):
        yield strategy.problem("expected either onSuccess and onFailure, or deletionRules")


def _autoscaling(field: Field) -> Problems:
    if field.value is True and field.root.get(*ANNOTATIONS, ELASTIC) != "true":
        yield field.problem(f'Kueue allows autoscaling only with the annotation {ELASTIC}: "true"')


def _number_of_groups(field: Field) -> Problems:
    count = len(list(field.rows()))
    if count + 1 > _POD_SETS_MAX:
        yield field.problem(f"{count} groups; Kueue allows at most {_POD_SETS_MAX - 1}")


def _topology_of_cluster(cluster: Field) -> Problems:
    pod_sets = [pod_set(cluster.at("headGroupSpec", "template"), 1)]
    for group in cluster.rows("workerGroupSpecs"):
        count = count_or_one(group.get("replicas")) * count_or_one(group.get("numOfHosts"))
        pod_sets.append(pod_set(group.at("template"), count))
    yield from topology_of_groups(pod_sets)
