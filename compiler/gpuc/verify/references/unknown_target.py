from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpuc.kubernetes.api_groups import CONSTRAINTS
from gpuc.verify import check
from gpuc.verify.references.reference import ANY_NAMESPACE, LOCAL_QUEUE, PRIORITY_CLASS, TYPED, Reference

if TYPE_CHECKING:
    from gpuc.objects.object_finding import ObjectFinding
    from gpuc.verify.subject import Subject


@check("REF010", source="https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/")
def unknown_target(subject: Subject) -> Iterator[ObjectFinding]:
    """A scaler, route, webhook or policy refers to an object that does not exist.

    The scaler, route, webhook or policy has no effect. Only its status, or an error of clients, shows the reason.
    """
    return subject.unresolved(unknown_target.rule)


_RULE = unknown_target.rule
ROWS = (
    Reference(
        f"{CONSTRAINTS}/GpucQueueRequired", "spec.parameters.queues[].queues[]", LOCAL_QUEUE, _RULE, ANY_NAMESPACE
    ),
    Reference(f"{CONSTRAINTS}/GpucQueueRequired", "spec.parameters.priorities[]", PRIORITY_CLASS, _RULE),
    Reference(f"{CONSTRAINTS}/GpucQueueRequired", "spec.parameters.pools[].pool", "karpenter.sh/NodePool", _RULE),
    Reference(f"{CONSTRAINTS}/GpucGpuQuota", "spec.parameters.pools[].pool", "karpenter.sh/NodePool", _RULE),
    Reference(f"{CONSTRAINTS}/GpucMpsClients", "spec.parameters.pools[].pool", "karpenter.sh/NodePool", _RULE),
    Reference(f"{CONSTRAINTS}/GpucGpuQueue", "spec.parameters.gpuQueues[]", LOCAL_QUEUE, _RULE, ANY_NAMESPACE),
    Reference(f"{CONSTRAINTS}/GpucGpuQueue", "spec.parameters.cpuQueues[]", LOCAL_QUEUE, _RULE, ANY_NAMESPACE),
    Reference(f"{CONSTRAINTS}/GpucPoolSelector", "spec.parameters.pools[]", "karpenter.sh/NodePool", _RULE),
    Reference(
        f"{CONSTRAINTS}/GpucPoolSelector",
        "spec.parameters.choices[].pools[]",
        "karpenter.sh/NodePool",
        _RULE,
    ),
    Reference(f"{CONSTRAINTS}/GpucGpuLimits", "spec.parameters.limits[].pool", "karpenter.sh/NodePool", _RULE),
    Reference(
        f"{CONSTRAINTS}/GpucNcclProfile",
        "spec.parameters.profiles[].configMap",
        "ConfigMap",
        _RULE,
        "namespace",
    ),
    Reference("autoscaling/HorizontalPodAutoscaler", "spec.scaleTargetRef", TYPED, _RULE),
    Reference("keda.sh/ScaledObject", "spec.scaleTargetRef", TYPED, _RULE),
    Reference("autoscaling.k8s.io/VerticalPodAutoscaler", "spec.targetRef", TYPED, _RULE),
    Reference("networking.k8s.io/Ingress", "spec.defaultBackend.service.name", "Service", _RULE),
    Reference("networking.k8s.io/Ingress", "spec.rules[].http.paths[].backend.service.name", "Service", _RULE),
    Reference("trainer.kubeflow.org/TrainJob", "spec.runtimeRef", TYPED, _RULE),
)
"""The fields of the references that the check covers."""
