"""Functions for checks of LeaderWorkerSets that the table of checks, leader_worker_set.rows, cannot express.

Source: kubernetes-sigs/lws v0.9.0 pkg/webhooks/leaderworkerset_webhook.go
"""

from math import ceil
from typing import Any

from gpuc.admission.validation.changes import ChangedObject, Refusals
from gpuc.admission.validation.constraints import percentage
from gpuc.admission.validation.field import INT32_MAX, Field, Problems, number

SUBGROUP_TOPOLOGY = "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology"


def _number_of_pods(document: Field) -> Problems:
    replicas, size = document.at("spec", "replicas"), number(document.get("spec", "leaderWorkerTemplate", "size"))
    if (replicas.number or 0) * (size or 1) > INT32_MAX:
        yield replicas.problem(f"replicas times size is more than {INT32_MAX}")


def _can_replace_groups(rolling: Field) -> Problems:
    replicas = number(rolling.within("LeaderWorkerSet").get("spec", "replicas")) or 0
    unavailable = _scaled(rolling.get("maxUnavailable"), replicas)
    surge = _scaled(rolling.get("maxSurge"), replicas, up=True)
    if replicas and unavailable == 0 and surge == 0:
        message = "maxUnavailable and maxSurge are both 0, so that no group can be replaced"
        yield rolling.at("maxUnavailable").problem(message, "write maxUnavailable: 1")


def _scaled(value: Any, total: int, *, up: bool = False) -> int:
    percent = percentage(value)
    if percent is None:
        return number(value) or 0
    return ceil(percent * total / 100) if up else percent * total // 100


def _sub_groups(document: Field) -> Problems:
    template = document.at("spec", "leaderWorkerTemplate")
    policy, size = template.get("subGroupPolicy"), number(template.get("size")) or 1
    if policy is None:
        annotation = document.at("metadata", "annotations", SUBGROUP_TOPOLOGY)
        if annotation.value is not None:
            yield annotation.problem("the annotation needs spec.leaderWorkerTemplate.subGroupPolicy.subGroupSize")
        return
    field = template.at("subGroupPolicy", "subGroupSize")
    own = field.number
    if own is None or own < 1:
        yield field.invalid("1 or more")
    elif own > size:
        yield field.invalid(f"at most the size, {size}")
    elif size % own and (size - 1) % own:
        yield field.invalid(f"a divisor of the size, {size}, or of the number of workers, {size - 1}")
    elif template.get("subGroupPolicy", "subGroupPolicyType") == "LeaderExcluded" and (size - 1) % own:
        yield field.invalid(f"a divisor of the number of workers, {size - 1}, with LeaderExcluded")


def _size_of_sub_groups(lws: ChangedObject) -> Refusals:
    path = ("spec", "leaderWorkerTemplate", "subGroupPolicy", "subGroupSize")
    before, after = lws.values(*path)
    if before != after:
        yield path, "the size of the sub groups is immutable"
