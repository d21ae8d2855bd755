"""What gpuc knows about LeaderWorkerSets.

Source: kubernetes-sigs/lws v0.9.0 config/default/kustomization.yaml (the chart has the same names),
pkg/controllers/leaderworkerset_controller.go, pod_controller.go: the StatefulSets of leaders and of workers have the
same templates of PersistentVolumeClaims.
"""

from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Body
from gpuc.objects.object_set import count_or, dig
from gpuc.parts import workload_kind as parts

_GROUP = "leaderworkerset.x-k8s.io"
_TEMPLATE: Path = ("spec", "leaderWorkerTemplate")


def _pod_set(document: Body, path: Path) -> tuple[str, int]:
    if path[-1] == "leaderTemplate":
        return "leader", 1
    has_leader = isinstance(dig(document, *_TEMPLATE, "leaderTemplate"), dict)
    return "worker" if has_leader else "main", count_or(dig(document, *_TEMPLATE, "size"), 1) - has_leader


_PODS = parts.sample_template("Always")
KINDS = (
    parts.WorkloadKind(
        group=_GROUP, kind="LeaderWorkerSet", version="v1",
        templates=("spec.leaderWorkerTemplate.leaderTemplate", "spec.leaderWorkerTemplate.workerTemplate"),
        pod_set=_pod_set,
        queueing=parts.Queueing(
            f"{_GROUP}/leaderworkerset", 11, holds_pods=True, is_pod_group=True, is_per_replica=True,
            labels=(parts.LABELS,),
        ),
        controller=parts.Controller("LeaderWorkerSet", "lws-system/lws-controller-manager", ()),
        child=parts.Child(("apps", "StatefulSet"), "", lambda _: iter(())),
        labels=parts.PodLabels({}, ("leaderworkerset.sigs.k8s.io/",)), start=parts.AT_ONCE,
        traits=parts.NO_TRAITS._replace(claims=(*_TEMPLATE, "volumeClaimTemplates"), is_scaled=True, has_service=True),
        sample_fields={"spec": {"leaderWorkerTemplate": {"size": 2, "leaderTemplate": _PODS, "workerTemplate": _PODS}}},
    ),
)  # fmt: skip
