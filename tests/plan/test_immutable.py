"""Changes that the API server refuses: changes of two objects, written as YAML."""

from __future__ import annotations

import pytest
import yaml

from gpuc.manifest.manifest import Manifest
from gpuc.plan.change import Pair
from gpuc.plan.immutable import refused_fields


def manifest(api: str, kind: str, text: str) -> Manifest:
    body = yaml.safe_load(text)
    annotations = body.pop("annotations", {})
    return Manifest("objects.yaml", (), api, kind, "one", body, annotations=annotations)


def refused(kind: str, before: str, after: str) -> list[str]:
    api, _, name = kind.rpartition("/")
    pair = Pair(manifest(api, name, before), manifest(api, name, after))
    return [".".join(map(str, path)) for path, _ in refused_fields(pair)]


JOB = "spec: {template: {metadata: {labels: {a: b}}, spec: {nodeSelector: {pool: x}, containers: [{image: a}]}}}"
RAY = "{managedBy: BY, rayClusterConfig: {managedBy: BY}, rayClusterSpec: {managedBy: BY}}"
RAY_A, RAY_B = (RAY.replace("BY", value) for value in ("ray.io/kuberay-operator", "kueue.x-k8s.io/multikueue"))
QUEUE = "spec: {runPolicy: {schedulingPolicy: {queue: %s}}}"
VOLCANO = "spec: {minAvailable: 1, tasks: [{name: a, replicas: 1, template: {spec: {nodeName: x}}}]}"
CLAIM = "spec: {storageClassName: gp3, resources: {requests: {storage: %s}}}"


@pytest.mark.parametrize(
    ("kind", "before", "after", "fields"),
    [
        ("batch/v1/Job", JOB, JOB.replace("image: a", "image: b"), ["spec.template.spec.containers.0.image"]),
        ("batch/v1/Job", JOB, JOB.replace("pool: x", "pool: z"), ["spec.template.spec.nodeSelector.pool"]),
        ("batch/v1/Job", "spec: {completions: 2}", "spec: {completions: 3}", ["spec.completions"]),
        ("batch/v1/Job", "spec: {}", "spec: {completionMode: Indexed}", ["spec.completionMode"]),
        ("batch/v1/Job", "spec: {}", "spec: {podFailurePolicy: {rules: []}}", ["spec.podFailurePolicy"]),
        ("v1/Service", "spec: {clusterIP: None}", "spec: {clusterIP: 10.0.0.1}", ["spec.clusterIP"]),
        ("v1/Service", "spec: {}", "spec: {clusterIP: None}", ["spec.clusterIP"]),
        ("v1/PersistentVolumeClaim", CLAIM % "20Gi", CLAIM % "10Gi", ["spec.resources.requests.storage"]),
        ("v1/PersistentVolumeClaim", CLAIM % "1Gi", CLAIM.replace("gp3", "io2") % "1Gi", ["spec.storageClassName"]),
        ("apps/v1/StatefulSet", "spec: {serviceName: a}", "spec: {serviceName: b}", ["spec.serviceName"]),
        ("v1/ResourceQuota", "spec: {hard: {pods: 1}}", "spec: {scopes: [BestEffort]}", ["spec.scopes"]),
        ("v1/Secret", "type: Opaque", "type: kubernetes.io/tls", ["type"]),
        ("v1/ConfigMap", "{immutable: true, data: {a: b}}", "{immutable: true, data: {a: c}}", ["data.a"]),
        ("storage.k8s.io/v1/StorageClass", "{}", "reclaimPolicy: Retain", ["reclaimPolicy"]),
        ("storage.k8s.io/v1/StorageClass", "{}", "parameters: {type: gp3}", ["parameters"]),
        ("kueue.x-k8s.io/v1beta2/Topology", "spec: {levels: [a]}", "spec: {levels: [b]}", ["spec.levels"]),
        ("karpenter.sh/v1/NodePool", "spec: {replicas: 1}", "spec: {}", ["spec.replicas"]),
        ("rbac.authorization.k8s.io/v1/RoleBinding", "roleRef: {name: a}", "roleRef: {name: b}", ["roleRef"]),
        (
            "ray.io/v1/RayService",
            f"spec: {RAY_A}",
            f"spec: {RAY_B}",
            ["spec.managedBy", "spec.rayClusterConfig.managedBy"],
        ),
        ("ray.io/v1/RayJob", f"spec: {RAY_A}", f"spec: {RAY_B}", ["spec.managedBy", "spec.rayClusterSpec.managedBy"]),
        (
            "ray.io/v1/RayCronJob",
            f"spec: {{jobTemplate: {RAY_A}}}",
            f"spec: {{jobTemplate: {RAY_B}}}",
            ["spec.jobTemplate.managedBy", "spec.jobTemplate.rayClusterSpec.managedBy"],
        ),
        ("kubeflow.org/v1/PyTorchJob", QUEUE % "a", QUEUE % "b", ["spec.runPolicy.schedulingPolicy.queue"]),
        (
            "trainer.kubeflow.org/v1alpha1/ClusterTrainingRuntime",
            "spec: {template: {spec: {network: {enableDNSHostnames: true}}}}",
            "spec: {template: {spec: {network: {enableDNSHostnames: false}}}}",
            ["spec.template.spec.network"],
        ),
        ("batch/v1/Job", "spec: {}", "spec: {selector: {matchLabels: {a: b}}}", ["spec.selector"]),
        ("batch.volcano.sh/v1alpha1/Job", "spec: {}", "spec: {queue: research}", ["spec.queue"]),
        (
            "batch.volcano.sh/v1alpha1/Job",
            VOLCANO,
            VOLCANO.replace(": x", ": y"),
            ["spec.tasks.0.template.spec.nodeName"],
        ),
        ("batch.volcano.sh/v1alpha1/Job", VOLCANO, VOLCANO.replace("[{", "[{name: b}, {"), ["spec.tasks.0"]),
        (
            "batch.volcano.sh/v1alpha1/Job",
            "spec: {volumes: [{mountPath: /a, volumeClaimName: a}]}",
            "spec: {volumes: [{mountPath: /a, volumeClaimName: b}]}",
            ["spec.volumes.0.volumeClaimName"],
        ),
        ("jobset.x-k8s.io/v1alpha2/JobSet", "spec: {}", "spec: {managedBy: a.b/c}", ["spec.managedBy"]),
        (
            "jobset.x-k8s.io/v1alpha2/JobSet",
            "spec: {suspend: true, replicatedJobs: [{name: a, replicas: 1}]}",
            "spec: {suspend: true, replicatedJobs: [{name: a, replicas: 2}]}",
            ["spec.replicatedJobs.0.replicas"],
        ),
        (
            "jobset.x-k8s.io/v1alpha2/JobSet",
            "spec: {replicatedJobs: [{name: a, replicas: 1}]}",
            "spec: {replicatedJobs: [{name: a, replicas: 2}]}",
            ["spec.replicatedJobs.0.replicas"],
        ),
    ],
)
def test_fields_that_cannot_change(kind: str, before: str, after: str, fields: list[str]) -> None:
    assert refused(kind, before, after) == fields


_JOBS = "spec: {suspend: true, replicatedJobs: [{name: a, template: {spec: {template: {spec: {%s}}}}}]}"
SUSPENDED = JOB.replace("spec: {template", "spec: {suspend: true, template")


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("batch/v1/Job", SUSPENDED, SUSPENDED.replace("pool: x", "pool: z")),
        ("batch/v1/Job", "spec: {}", "spec: {completionMode: NonIndexed}"),
        ("jobset.x-k8s.io/v1alpha2/JobSet", _JOBS % "nodeSelector: {a: b}", _JOBS % "nodeSelector: {a: c}"),
        ("batch/v1/Job", "spec: {parallelism: 1}", "spec: {parallelism: 2}"),
        (
            "batch/v1/Job",
            JOB,
            "annotations: {argocd.argoproj.io/hook: PreSync}\n" + JOB.replace("image: a", "image: b"),
        ),
        ("batch.volcano.sh/v1alpha1/Job", "spec: {}", "spec: {maxRetry: 3, priorityClassName: a}"),
        ("batch.volcano.sh/v1alpha1/Job", VOLCANO, VOLCANO.replace(": 1", ": 2")),
        ("batch.volcano.sh/v1alpha1/Job", VOLCANO, VOLCANO.replace("name: a", "maxRetry: 3, name: a")),
        (
            "batch.volcano.sh/v1alpha1/Job",
            "spec: {volumes: [{mountPath: /a, volumeClaim: {}, volumeClaimName: a}]}",
            "spec: {volumes: [{mountPath: /a, volumeClaim: {}}]}",
        ),
        ("ray.io/v1/RayService", "spec: {}", "spec: {managedBy: kueue.x-k8s.io/multikueue}"),
        ("kubeflow.org/v2beta1/MPIJob", QUEUE % "a", QUEUE % "b"),
        ("v1/Service", "spec: {}", "spec: {clusterIP: 10.0.0.1}"),
        ("v1/Service", "spec: {clusterIP: None}", "spec: {}"),
        ("v1/PersistentVolumeClaim", CLAIM % "10Gi", CLAIM % "20Gi"),
        ("apps/v1/StatefulSet", "spec: {replicas: 1}", "spec: {replicas: 2}"),
        ("v1/Secret", "{}", "type: Opaque"),
        ("storage.k8s.io/v1/StorageClass", "{}", "volumeBindingMode: Immediate"),
        ("karpenter.sh/v1/NodePool", "spec: {replicas: 1}", "spec: {replicas: 2}"),
        (
            "v1/ConfigMap",
            "{immutable: true, data: {a: b}}",
            "{annotations: {argocd.argoproj.io/sync-options: 'Force=true, Replace=true'}, data: {a: c}}",
        ),
    ],
)
def test_fields_that_can_change(kind: str, before: str, after: str) -> None:
    assert refused(kind, before, after) == []
