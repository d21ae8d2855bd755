"""Jobs of Volcano with changed fields, and whether the API server or the webhook of Volcano refuses them."""

from __future__ import annotations

from tests.admission.validation.bases import CONTAINER, DELETE, TEMPLATE, Case

_JOB = "batch.volcano.sh/Job"
_TASK = "spec.tasks.0"
_POD = f"{_TASK}.template.spec"
_FAILED = {"event": "PodFailed", "action": "RestartJob"}
_PARTITIONS = {"totalPartitions": 2, "partitionSize": 4}
_CORES = {**CONTAINER, "resources": {"limits": {"cpu": "2"}}}
_MASTER = {"name": "master", "replicas": 1, "template": TEMPLATE}
_CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
_TIERS = {"highestTierAllowed": 1, "highestTierName": "spine"}


def _needs(*names: str) -> dict[str, object]:
    return {"dependsOn": {"name": [*names]}}


VOLCANO = [
    Case(_JOB, {}, None),
    Case(_JOB, {"spec.minAvailable": 2}, None),
    Case(_JOB, {"spec.minAvailable": 3}),
    Case(_JOB, {"spec.minAvailable": -1}),
    Case(_JOB, {"spec.tasks": []}),
    Case(_JOB, {"spec.tasks": DELETE}),
    Case(_JOB, {"spec.task": []}),
    Case(_JOB, {"metadata.name": "a" * 64}),
    Case(_JOB, {"metadata.name": "a" * 55}, f"{_TASK}.name"),
    Case(_JOB, {f"{_TASK}.name": DELETE}, None),
    Case(_JOB, {f"{_TASK}.name": "Worker"}),
    Case(_JOB, {"spec.tasks.1": {"name": "worker", "template": TEMPLATE}}, "spec.tasks.1.name"),
    Case(_JOB, {f"{_TASK}.minAvailable": 1}, None),
    Case(_JOB, {f"{_TASK}.minAvailable": 3}),
    Case(_JOB, {f"{_TASK}.replicas": DELETE, f"{_TASK}.minAvailable": 1}, f"{_TASK}.minAvailable"),
    Case(_JOB, {f"{_POD}.containers": []}),
    Case(_JOB, {f"{_POD}.containers.0.image": DELETE}),
    Case(_JOB, {f"{_POD}.restartPolicy": "Never"}, None),
    Case(_JOB, {f"{_POD}.hostNetwork": True}, None),
    Case(_JOB, {f"{_POD}.nodeSelector": {"a": "b c"}}, f"{_POD}.nodeSelector.a"),
    Case(_JOB, {f"{_TASK}.topologyPolicy": "none"}, None),
    Case(_JOB, {f"{_TASK}.topologyPolicy": "numa"}),
    Case(_JOB, {f"{_TASK}.topologyPolicy": "restricted"}, f"{_POD}.containers.0.resources.limits.cpu"),
    Case(_JOB, {f"{_TASK}.topologyPolicy": "restricted", f"{_POD}.containers.0": _CORES}, None),
    Case(
        _JOB,
        {f"{_TASK}.topologyPolicy": "restricted", f"{_POD}.containers.0.resources": {"requests": {"cpu": "1500m"}}},
        f"{_POD}.containers.0.resources.requests.cpu",
    ),
    Case(_JOB, {f"{_TASK}.partitionPolicy": _PARTITIONS}, f"{_TASK}.replicas"),
    Case(_JOB, {f"{_TASK}.partitionPolicy": _PARTITIONS, f"{_TASK}.replicas": 8}, None),
    Case(_JOB, {f"{_TASK}.partitionPolicy": {**_PARTITIONS, "minPartitions": 1}, f"{_TASK}.replicas": 8}, None),
    Case(
        _JOB,
        {
            f"{_TASK}.partitionPolicy": {**_PARTITIONS, "minPartitions": 1},
            f"{_TASK}.replicas": 8,
            f"{_TASK}.minAvailable": 8,
        },
        f"{_TASK}.minAvailable",
    ),
    Case(
        _JOB,
        {f"{_TASK}.partitionPolicy": {**_PARTITIONS, "networkTopology": _TIERS}, f"{_TASK}.replicas": 8},
        f"{_TASK}.partitionPolicy.networkTopology.highestTierName",
    ),
    Case(_JOB, {"spec.networkTopology": {"highestTierAllowed": 0}}, None),
    Case(_JOB, {"spec.networkTopology": _TIERS}, "spec.networkTopology.highestTierName"),
    Case(_JOB, {"spec.networkTopology": {"mode": "strict"}}, "spec.networkTopology.mode"),
    Case(_JOB, {"spec.policies": [_FAILED, {"exitCode": 3, "action": "AbortJob"}]}, None),
    Case(_JOB, {"spec.policies": [{"exitCode": 3}]}, None),
    Case(_JOB, {"spec.policies": [{"exitCode": 0}]}, "spec.policies.0.exitCode"),
    Case(_JOB, {"spec.policies": [{"exitCode": 3}, {"exitCode": 3}]}, "spec.policies.1.exitCode"),
    Case(_JOB, {"spec.policies": [{**_FAILED, "exitCode": 3}]}, "spec.policies.0.exitCode"),
    Case(_JOB, {"spec.policies": [{"events": ["PodFailed"], "exitCode": 3}]}, "spec.policies.0.exitCode"),
    Case(_JOB, {"spec.policies": [{"action": "AbortJob"}]}, "spec.policies.0"),
    Case(_JOB, {"spec.policies": [{"event": "PodFailed"}]}, "spec.policies.0.action"),
    Case(_JOB, {"spec.policies": [{"events": ["PodFailed"]}]}, "spec.policies.0.action"),
    Case(_JOB, {"spec.policies": [{**_FAILED, "action": "Restart"}]}, "spec.policies.0.action"),
    Case(_JOB, {"spec.policies": [{**_FAILED, "event": "PodRunning"}]}, "spec.policies.0.event"),
    Case(_JOB, {"spec.policies": [{"events": ["OutOfSync"], "action": "AbortJob"}]}, "spec.policies.0.events.0"),
    Case(_JOB, {"spec.policies": [_FAILED, _FAILED]}, "spec.policies.1"),
    Case(_JOB, {"spec.policies": [_FAILED, {**_FAILED, "event": "*"}]}, "spec.policies"),
    Case(_JOB, {f"{_TASK}.policies": [_FAILED, _FAILED]}, f"{_TASK}.policies.1"),
    Case(_JOB, {f"{_TASK}.policies": [{"exitCode": 0}]}, f"{_TASK}.policies.0.exitCode"),
    Case(_JOB, {"spec.plugins": {"svc": [], "env": []}}, None),
    Case(_JOB, {"spec.plugins": {"horovod": []}}, "spec.plugins.horovod"),
    Case(_JOB, {"spec.plugins": {"mpi": []}}, "spec.plugins.mpi"),
    Case(_JOB, {"spec.plugins": {"mpi": ["--master=worker"]}}, None),
    Case(_JOB, {"spec.plugins": {"mpi": ["-master", "worker"]}}, None),
    Case(_JOB, {"spec.plugins": {"mpi": []}, "spec.tasks.1": _MASTER}, None),
    Case(_JOB, {"spec.volumes": [{"mountPath": "/a", "volumeClaimName": "a"}]}, None),
    Case(_JOB, {"spec.volumes": [{"mountPath": "/a", "volumeClaim": _CLAIM}]}, None),
    Case(_JOB, {"spec.volumes": [{"mountPath": "/a"}]}, "spec.volumes.0"),
    Case(_JOB, {"spec.volumes": [{"volumeClaimName": "a"}]}, "spec.volumes.0.mountPath"),
    Case(_JOB, {"spec.volumes": [{"mountPath": "/a", "volumeClaimName": "A"}]}, "spec.volumes.0.volumeClaimName"),
    Case(
        _JOB,
        {"spec.volumes": [{"mountPath": "/a", "volumeClaimName": "a", "volumeClaim": _CLAIM}]},
        "spec.volumes.0.volumeClaimName",
    ),
    Case(_JOB, {"spec.volumes": [{"mountPath": "/a", "volumeClaimName": "a"}] * 2}, "spec.volumes.1.mountPath"),
    Case(_JOB, {"spec.queue": "root"}),
    Case(_JOB, {"spec.queue": "research"}, None),
    Case(_JOB, {"spec.tasks.1": {**_MASTER, **_needs("worker")}}, None),
    Case(_JOB, {"spec.tasks.1": {**_MASTER, **_needs("workers")}}, "spec.tasks.1.dependsOn.name"),
    Case(_JOB, {"spec.tasks.1": {**_MASTER, **_needs("worker", "worker")}}, "spec.tasks.1.dependsOn.name"),
    Case(
        _JOB,
        {f"{_TASK}.dependsOn": {"name": ["master"]}, "spec.tasks.1": {**_MASTER, **_needs("worker")}},
        f"{_TASK}.dependsOn.name",
    ),
]
UNCHECKED_QUEUE = Case(_JOB, {"spec.queue": "research"}, "spec.queue")
