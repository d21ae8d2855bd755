"""The kinds of the operators of Kubeflow, Ray and LeaderWorkerSet: their webhooks, and the CEL rules of their CRDs.

The operators create the pods later, and the API server then checks the templates. Kubeflow has no webhook for MPIJobs.
KubeRay checks the rest in its controller, which sets the status of an invalid object. The webhook of Kubeflow Trainer
reads the runtime of the TrainJob from the cluster, which gpuc does not.

Source: kubeflow/training-operator v1.9.3 pkg/webhooks, pkg/common/util/webhooks.go, pkg/apis/kubeflow.org/v1;
ray-project/kuberay v1.6.2 ray-operator/apis/ray/v1; kubeflow/trainer v2.2.1 pkg/apis/trainer/v1alpha1,
pkg/webhooks/trainjob_webhook.go; kubernetes-sigs/lws v0.9.0 pkg/webhooks/leaderworkerset_webhook.go
"""

from __future__ import annotations

import re
from math import ceil
from typing import Any, NamedTuple

from gpuc.admission.validation.problem import (
    INT32_MAX,
    Problem,
    Problems,
    at_least,
    count_or_percent,
    dns_label_1035,
    invalid,
    missing,
    number,
    one_of,
    percentage,
    required,
    rows,
    text,
)
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.pod_template import REPLICA_SPECS
from gpuc.objects.object_set import dig, items, pairs

CHECK = "webhook of the training operator"
_MULTIKUEUE = "kueue.x-k8s.io/multikueue"
_MANAGERS = ("kubeflow.org/training-operator", _MULTIKUEUE)
_RAY_MANAGERS = ("ray.io/kuberay-operator", _MULTIKUEUE)
_TRAIN_MANAGERS = ("trainer.kubeflow.org/trainjob-controller", _MULTIKUEUE)
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://.+")
_LEADER_WORKER_CHECK = "webhook of LeaderWorkerSet"
SUBGROUP_TOPOLOGY = "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology"
_TEMPLATE: Path = ("spec", "leaderWorkerTemplate")
_ROLLING: Path = ("spec", "rolloutStrategy", "rollingUpdateConfiguration")


class _Kind(NamedTuple):
    """What the webhook requires of one kind."""

    container: str
    """The name of the container that every replica must have."""
    roles: tuple[str, ...] = ()
    """The allowed roles; empty if the webhook allows every role."""
    needs_master: bool = False


_KINDS = {
    "PyTorchJob": _Kind("pytorch", ("Master", "Worker")),
    "TFJob": _Kind("tensorflow"),
    "XGBoostJob": _Kind("xgboost", ("Master", "Worker"), needs_master=True),
    "JAXJob": _Kind("jax", ("Worker",)),
    "PaddleJob": _Kind("paddle", ("Master", "Worker")),
}


def training_job(document: Any) -> Problems:
    """Checks a job of the training operator."""
    replicas: Path = ("spec", REPLICA_SPECS[dig(document, "kind")], "Worker", "replicas")  # the subresource scale
    yield from at_least(replicas, dig(document, *replicas), 0)
    for problem in _training_job(document):
        yield problem._replace(check=CHECK)


def _training_job(document: Any) -> Problems:
    kind, field, spec = _KINDS[dig(document, "kind")], REPLICA_SPECS[dig(document, "kind")], dig(document, "spec")
    yield from dns_label_1035(("metadata", "name"), dig(document, "metadata", "name"))
    manager: Path = ("spec", "runPolicy", "managedBy")
    yield from one_of(manager, dig(document, *manager), _MANAGERS)
    replicas = dict(pairs(dig(spec, field)))
    if dig(spec, field) is None:
        yield missing(("spec", field))
    for role, replica in replicas.items():
        yield from _replica(("spec", field, role), role, replica, kind)
    if kind.needs_master and "Master" not in replicas:
        yield missing(("spec", field, "Master"))
    if kind.container == "tensorflow" and {"Chief", "Master"} <= replicas.keys():
        yield Problem(("spec", field), "the roles Chief and Master are both set; only one is allowed")
    if dig(spec, "elasticPolicy") is not None:
        if "Worker" not in replicas:
            yield missing(("spec", field, "Worker"), "elasticPolicy needs workers")
        if dig(spec, "elasticPolicy", "nProcPerNode") is not None and dig(spec, "nprocPerNode") is not None:
            yield Problem(("spec", "elasticPolicy", "nProcPerNode"), "nProcPerNode and nprocPerNode are both set")


def _replica(path: Path, role: str, replica: Any, kind: _Kind) -> Problems:
    if kind.roles and role not in kind.roles:
        yield Problem(path, f"there is no role {role}; expected {' or '.join(kind.roles)}")
    where: Path = (*path, "template", "spec", "containers")
    containers = [container for _, container in items(dig(replica, *where[len(path) :]))]
    for index, container in enumerate(containers):
        yield from required((*where, index), container, "image")
    if kind.container not in {text(dig(container, "name")) for container in containers}:
        fix = f"write name: {kind.container}" if len(containers) == 1 else ""
        yield Problem(where, f"one container must have the name {kind.container}", fix)
    yield from _count((*path, "replicas"), role, dig(replica, "replicas"), kind)


def _count(path: Path, role: str, replicas: Any, kind: _Kind) -> Problems:
    """Checks the number of replicas, which only the webhooks of PyTorchJob and XGBoostJob do."""
    if kind.container not in ("pytorch", "xgboost"):
        return
    count = number(replicas)
    if role == "Master" and count != 1:
        yield invalid(path, replicas, "1 for the role Master", "write replicas: 1")
    elif role != "Master" and kind.container == "pytorch" and count is not None and count < 1:
        yield invalid(path, count, "1 or more")


def ray_cluster(document: Any) -> Problems:
    """Checks a RayCluster."""
    yield from one_of(("spec", "managedBy"), dig(document, "spec", "managedBy"), _RAY_MANAGERS)


def ray_job(document: Any) -> Problems:
    """Checks a RayJob."""
    for path in (("spec", "managedBy"), ("spec", "rayClusterSpec", "managedBy")):
        yield from one_of(path, dig(document, *path), _RAY_MANAGERS)
    strategy, where = dig(document, "spec", "deletionStrategy"), ("spec", "deletionStrategy")
    if strategy is None:
        return
    old = [dig(strategy, name) is not None for name in ("onSuccess", "onFailure")]
    has_rules = dig(strategy, "deletionRules") is not None
    if (any(old) and has_rules) or not (all(old) or has_rules):
        yield Problem(where, "expected either onSuccess and onFailure, or deletionRules")
    for rule_path, rule in rows(where, strategy, "deletionRules"):
        states = [dig(rule, "condition", name) is not None for name in ("jobStatus", "jobDeploymentStatus")]
        if dig(rule, "condition") is not None and sum(states) != 1:
            yield Problem((*rule_path, "condition"), "expected exactly one of jobStatus and jobDeploymentStatus")


def train_job(document: Any) -> Problems:
    """Checks a TrainJob."""
    yield from dns_label_1035(("metadata", "name"), dig(document, "metadata", "name"))
    yield from one_of(("spec", "managedBy"), dig(document, "spec", "managedBy"), _TRAIN_MANAGERS)
    for name in ("dataset", "model"):
        path: Path = ("spec", "initializer", name, "storageUri")
        uri = text(dig(document, *path))
        if uri and not _URI.match(uri):
            yield invalid(path, uri, "a URI with a scheme such as hf://organization/name")
    message = "gpuc does not evaluate the webhook of Kubeflow Trainer, which reads the runtime of the TrainJob"
    yield Problem(("spec", "runtimeRef"), message, is_unchecked=True, check="webhook of Kubeflow Trainer")


def leader_worker_set(document: Any) -> Problems:
    """Checks a LeaderWorkerSet, with the defaults of the webhook."""
    replicas: Path = ("spec", "replicas")  # the subresource scale
    yield from at_least(replicas, dig(document, *replicas), 0)
    for problem in (*_counts(document), *_rollout(document), *_sub_groups(document)):
        yield problem._replace(check=_LEADER_WORKER_CHECK)


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
