"""The record of LeaderWorkerSets.

Source: kubernetes-sigs/lws v0.9.0 config/default/kustomization.yaml (the chart has the same names),
pkg/controllers/leaderworkerset_controller.go, pod_controller.go: the StatefulSets of leaders and of workers have the
same templates of PersistentVolumeClaims.
"""

from __future__ import annotations

from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Body
from gpuc.objects.object_set import count_or, dig
from gpuc.parts.workload_kind import (
    AT_ONCE,
    LABELS,
    Child,
    Controller,
    PodLabels,
    Queueing,
    WorkloadKind,
    no_pods,
    no_rule,
    sample,
    sample_template,
)

_GROUP = "leaderworkerset.x-k8s.io"
_TEMPLATE: Path = ("spec", "leaderWorkerTemplate")


def _pod_set(document: Body, path: Path) -> tuple[str, int]:
    if path[-1] == "leaderTemplate":
        return "leader", 1
    has_leader = isinstance(dig(document, *_TEMPLATE, "leaderTemplate"), dict)
    return "worker" if has_leader else "main", count_or(dig(document, *_TEMPLATE, "size"), 1) - has_leader


def _sample(queue: str) -> Body:
    pods = sample_template("Always")
    template = {"size": 2, "leaderTemplate": pods, "workerTemplate": pods}
    return sample(f"{_GROUP}/v1", "LeaderWorkerSet", queue, {"leaderWorkerTemplate": template})


KINDS = (
    WorkloadKind(
        group=_GROUP,
        kind="LeaderWorkerSet",
        version="v1",
        templates=("spec.leaderWorkerTemplate.leaderTemplate", "spec.leaderWorkerTemplate.workerTemplate"),
        pod_set=_pod_set,
        further_pods=no_pods,
        queueing=Queueing(
            f"{_GROUP}/leaderworkerset", 11, holds_pods=True, is_pod_group=True, is_per_replica=True, labels=(LABELS,)
        ),
        controller=Controller("LeaderWorkerSet", "lws-system/lws-controller-manager", ()),
        child=Child(("apps", "StatefulSet"), "", lambda _: iter(())),
        labels=PodLabels({}, ("leaderworkerset.sigs.k8s.io/",)),
        start=AT_ONCE,
        claims=(*_TEMPLATE, "volumeClaimTemplates"),
        keeps_data=False,
        is_scaled=True,
        has_service=True,
        is_expanded=False,
        why_not_traced="",
        placement=no_rule,
        sample=_sample,
    ),
)
