"""LeaderWorkerSets: the webhook of LeaderWorkerSet.

The API server checks the pod templates later, when the controller creates StatefulSets and pods.

Source: kubernetes-sigs/lws v0.9.0 pkg/webhooks/leaderworkerset_webhook.go
"""

from __future__ import annotations

from math import ceil
from typing import Any

from gpuc.admission.validation.problem import (
    INT32_MAX,
    Problem,
    Problems,
    at_least,
    count_or_percent,
    dns_label_1035,
    invalid,
    number,
    percentage,
)
from gpuc.diagnostics.finding import Path
from gpuc.objects.object_set import dig

CHECK = "webhook of LeaderWorkerSet"
SUBGROUP_TOPOLOGY = "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology"
_TEMPLATE: Path = ("spec", "leaderWorkerTemplate")
_ROLLING: Path = ("spec", "rolloutStrategy", "rollingUpdateConfiguration")


def leader_worker_set(document: Any) -> Problems:
    """Checks a LeaderWorkerSet, with the defaults of the webhook."""
    replicas: Path = ("spec", "replicas")  # the subresource scale
    yield from at_least(replicas, dig(document, *replicas), 0)
    for problem in (*_counts(document), *_rollout(document), *_sub_groups(document)):
        yield problem._replace(check=CHECK)


def _counts(document: Any) -> Problems:
    yield from dns_label_1035(("metadata", "name"), dig(document, "metadata", "name"))
    replicas, size = number(dig(document, "spec", "replicas")), number(dig(document, *_TEMPLATE, "size"))
    yield from at_least((*_TEMPLATE, "size"), size, 1)
    if (replicas or 0) * (size or 1) > INT32_MAX:
        yield Problem(("spec", "replicas"), f"replicas times size is more than {INT32_MAX}")


def _rollout(document: Any) -> Problems:
    rolling, replicas = dig(document, *_ROLLING), number(dig(document, "spec", "replicas")) or 0
    if rolling is None:
        return
    for field in ("maxUnavailable", "maxSurge"):
        yield from count_or_percent((*_ROLLING, field), dig(rolling, field))
        if (percentage(dig(rolling, field)) or 0) > 100:
            yield invalid((*_ROLLING, field), dig(rolling, field), "at most 100%")
    yield from at_least((*_ROLLING, "partition"), dig(rolling, "partition"), 0)
    unavailable = _scaled(dig(rolling, "maxUnavailable"), replicas)
    surge = _scaled(dig(rolling, "maxSurge"), replicas, up=True)
    if replicas and unavailable == 0 and surge == 0:
        message = "maxUnavailable and maxSurge are both 0, so that no group can be replaced"
        yield Problem((*_ROLLING, "maxUnavailable"), message, "write maxUnavailable: 1")


def _scaled(value: Any, total: int, *, up: bool = False) -> int | None:
    percent = percentage(value)
    if percent is None:
        return number(value) or 0
    return ceil(percent * total / 100) if up else percent * total // 100


def _sub_groups(document: Any) -> Problems:
    policy, size = dig(document, *_TEMPLATE, "subGroupPolicy"), number(dig(document, *_TEMPLATE, "size")) or 1
    path: Path = (*_TEMPLATE, "subGroupPolicy", "subGroupSize")
    if policy is None:
        if dig(document, "metadata", "annotations", SUBGROUP_TOPOLOGY) is not None:
            where: Path = ("metadata", "annotations", SUBGROUP_TOPOLOGY)
            yield Problem(where, "the annotation needs spec.leaderWorkerTemplate.subGroupPolicy.subGroupSize")
        return
    own = number(dig(policy, "subGroupSize"))
    if own is None or own < 1:
        yield invalid(path, dig(policy, "subGroupSize"), "1 or more")
        return
    if own > size:
        yield invalid(path, own, f"at most the size, {size}")
    elif size % own and (size - 1) % own:
        yield invalid(path, own, f"a divisor of the size, {size}, or of the number of workers, {size - 1}")
    elif dig(policy, "subGroupPolicyType") == "LeaderExcluded" and (size - 1) % own:
        yield invalid(path, own, f"a divisor of the number of workers, {size - 1}, with LeaderExcluded")
