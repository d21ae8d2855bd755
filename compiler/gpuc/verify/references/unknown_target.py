from __future__ import annotations

from gpuc.kubernetes.api_groups import CONSTRAINTS
from gpuc.verify import Findings, check
from gpuc.verify.references.reference import ANY_NAMESPACE, LOCAL_QUEUE, PRIORITY_CLASS, TYPED, Reference
from gpuc.verify.subject import Subject


@check("REF010", source="https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/")
def unknown_target(subject: Subject) -> Findings:
    """A scaler, route, webhook or policy refers to an object that does not exist.

    The scaler, route, webhook or policy has no effect. Only its status, or an error of clients, shows the reason.
    """
    return subject.unresolved(unknown_target.rule)


ROWS = (
    Reference(f"{CONSTRAINTS}/GpucQueueRequired", "spec.parameters.queues[].queues[]", LOCAL_QUEUE, ANY_NAMESPACE),
    Reference(f"{CONSTRAINTS}/GpucQueueRequired", "spec.parameters.priorities[]", PRIORITY_CLASS),
    Reference(f"{CONSTRAINTS}/GpucQueueRequired", "spec.parameters.pools[].pool", "karpenter.sh/NodePool"),
    Reference(f"{CONSTRAINTS}/GpucGpuQuota", "spec.parameters.pools[].pool", "karpenter.sh/NodePool"),
    Reference(f"{CONSTRAINTS}/GpucMpsClients", "spec.parameters.pools[].pool", "karpenter.sh/NodePool"),
    Reference(f"{CONSTRAINTS}/GpucGpuQueue", "spec.parameters.gpuQueues[]", LOCAL_QUEUE, ANY_NAMESPACE),
    Reference(f"{CONSTRAINTS}/GpucGpuQueue", "spec.parameters.cpuQueues[]", LOCAL_QUEUE, ANY_NAMESPACE),
    Reference(f"{CONSTRAINTS}/GpucPoolSelector", "spec.parameters.pools[]", "karpenter.sh/NodePool"),
    Reference(f"{CONSTRAINTS}/GpucPoolSelector", "spec.parameters.choices[].pools[]", "karpenter.sh/NodePool"),
    Reference(f"{CONSTRAINTS}/GpucGpuLimits", "spec.parameters.limits[].pool", "karpenter.sh/NodePool"),
    Reference(f"{CONSTRAINTS}/GpucNcclProfile", "spec.parameters.profiles[].configMap", "ConfigMap", "namespace"),
    Reference("autoscaling/HorizontalPodAutoscaler", "spec.scaleTargetRef", TYPED),
    Reference("keda.sh/ScaledObject", "spec.scaleTargetRef", TYPED),
    Reference("autoscaling.k8s.io/VerticalPodAutoscaler", "spec.targetRef", TYPED),
    Reference("networking.k8s.io/Ingress", "spec.defaultBackend.service.name", "Service"),
    Reference("networking.k8s.io/Ingress", "spec.rules[].http.paths[].backend.service.name", "Service"),
    Reference("trainer.kubeflow.org/TrainJob", "spec.runtimeRef", TYPED),
)
