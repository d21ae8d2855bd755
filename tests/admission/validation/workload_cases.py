"""Jobs and other workloads with one changed field, and whether the API server refuses them."""

from __future__ import annotations

from tests.admission.validation.bases import CONTAINER, DELETE, TEMPLATE, Case

_T = "spec.template.spec"
_C = f"{_T}.containers.0"
_RULES = "spec.podFailurePolicy.rules"
_INDEXED = {"spec.completionMode": "Indexed", "spec.completions": 4}
_CODES = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1]}}
_LONG = "a" * 60
_VCT = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}

JOBS = [
    Case("Job", {}, None),
    Case("Job", {f"{_T}.restartPolicy": DELETE}),
    Case("Job", {f"{_T}.restartPolicy": "Always"}),
    Case("Job", {f"{_C}.image": DELETE}),
    Case("Job", {f"{_C}.image": " a "}, None),
    Case("Job", {f"{_C}.name": "Trainer"}),
    Case("Job", {"spec.parallelism": -1}),
    Case("Job", {"spec.completions": -1}),
    Case("Job", {"spec.backoffLimit": -1}),
    Case("Job", {"spec.ttlSecondsAfterFinished": -1}),
    Case("Job", {"spec.activeDeadlineSeconds": -1}),
    Case("Job", {"spec.activeDeadlineSeconds": "1h"}),
    Case("Job", {"spec.completionMode": "Index"}),
    Case("Job", {"spec.completionMode": "Indexed", "spec.parallelism": 2}, "spec.completions"),
    Case("Job", {**_INDEXED}, None),
    Case("Job", {**_INDEXED, "spec.parallelism": 100001}, "spec.parallelism"),
    Case("Job", {"spec.backoffLimitPerIndex": 1}),
    Case("Job", {**_INDEXED, "spec.backoffLimitPerIndex": 1}, None),
    Case("Job", {**_INDEXED, "spec.maxFailedIndexes": 1}, "spec.backoffLimitPerIndex"),
    Case("Job", {**_INDEXED, "spec.backoffLimitPerIndex": 1, "spec.maxFailedIndexes": 5}, "spec.maxFailedIndexes"),
    Case("Job", {**_INDEXED, "metadata.name": _LONG + "-bb"}, "metadata.name"),
    Case("Job", {**_INDEXED, "metadata.name": "a.b"}, "metadata.name"),
    Case("Job", {"metadata.name": "a.b"}, None),
    Case("Job", {"metadata.name": "a" * 64}, "spec.template.metadata.labels.job-name"),
    Case("Job", {"spec.selector": {"matchLabels": {"app": "a"}}}),
    Case("Job", {"spec.manualSelector": True, "spec.selector": {"matchLabels": {"app": "a"}}}, None),
    Case("Job", {"spec.manualSelector": True}, "spec.selector"),
    Case(
        "Job",
        {"spec.manualSelector": True, "spec.selector": {"matchLabels": {"app": "b"}}},
        "spec.template.metadata.labels",
    ),
    Case("Job", {"spec.template.metadata.labels": {"job-name": "b"}}, "spec.template.metadata.labels.job-name"),
    Case(
        "Job",
        {"spec.template.metadata.labels": {"controller-uid": "b"}},
        "spec.template.metadata.labels.controller-uid",
    ),
    Case("Job", {"spec.template.metadata.labels": DELETE, "spec.template.metadata.creationTimestamp": None}, None),
    Case("Job", {"spec.template.metadata.annotations": {"a": 1}}, "spec.template.metadata.annotations.a"),
    Case("Job", {"spec.managedBy": "kueue"}),
    Case("Job", {"spec.managedBy": "kueue.x-k8s.io/multikueue"}, None),
    Case("Job", {"spec.podReplacementPolicy": "Never"}),
    Case("Job", {_RULES: [_CODES]}, None),
    Case("Job", {_RULES: [_CODES], f"{_T}.restartPolicy": "OnFailure"}, f"{_T}.restartPolicy"),
    Case("Job", {_RULES: [_CODES], "spec.podReplacementPolicy": "TerminatingOrFailed"}, "spec.podReplacementPolicy"),
    Case("Job", {_RULES: [{"action": "FailJob"}]}, f"{_RULES}.0"),
    Case("Job", {_RULES: [{**_CODES, "action": "Fail"}]}, f"{_RULES}.0.action"),
    Case("Job", {_RULES: [{**_CODES, "action": "FailIndex"}]}, f"{_RULES}.0.action"),
    Case("Job", {_RULES: [{**_CODES, "onPodConditions": [{"type": "DisruptionTarget"}]}]}, f"{_RULES}.0"),
    Case("Job", {_RULES: [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}, None),
    Case(
        "Job",
        {_RULES: [{"action": "Ignore", "onPodConditions": [{"type": "a", "status": "true"}]}]},
        f"{_RULES}.0.onPodConditions.0.status",
    ),
    Case(
        "Job",
        {_RULES: [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [2, 1]}}]},
        f"{_RULES}.0.onExitCodes.values",
    ),
    Case(
        "Job",
        {_RULES: [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [0]}}]},
        f"{_RULES}.0.onExitCodes.values",
    ),
    Case(
        "Job",
        {_RULES: [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": []}}]},
        f"{_RULES}.0.onExitCodes.values",
    ),
    Case(
        "Job",
        {_RULES: [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1], "containerName": "b"}}]},
        f"{_RULES}.0.onExitCodes.containerName",
    ),
    Case("Job", {"spec.successPolicy": {"rules": [{"succeededCount": 1}]}}),
    Case("Job", {"spec.successPolicy": {"rules": [{"succeededCount": 1}]}, **_INDEXED}, None),
    Case(
        "Job",
        {"spec.successPolicy": {"rules": [{"succeededCount": 5}]}, **_INDEXED},
        "spec.successPolicy.rules.0.succeededCount",
    ),
    Case(
        "Job",
        {"spec.successPolicy": {"rules": [{"succeededIndexes": "0-4"}]}, **_INDEXED},
        "spec.successPolicy.rules.0.succeededIndexes",
    ),
    Case(
        "Job",
        {"spec.successPolicy": {"rules": [{"succeededIndexes": "1,0"}]}, **_INDEXED},
        "spec.successPolicy.rules.0.succeededIndexes",
    ),
    Case(
        "Job",
        {"spec.successPolicy": {"rules": [{"succeededIndexes": "0-2", "succeededCount": 4}]}, **_INDEXED},
        "spec.successPolicy.rules.0.succeededCount",
    ),
    Case("Job", {"spec.successPolicy": {"rules": []}, **_INDEXED}, "spec.successPolicy.rules"),
    Case("Job", {"spec.paralellism": 2}),
    Case("Job", {f"{_T}.activeDeadlineSeconds": 5}, None),
    Case("Job", {f"{_T}.hostNetwork": True, f"{_C}.ports": [{"containerPort": 80}]}, None),
    Case(
        "Job",
        {"spec|template|spec|containers|0|resources": {"requests": {"nvidia.com/gpu": 1}}},
        f"{_C}.resources.limits",
    ),
]
CRON_JOBS = [
    Case("CronJob", {}, None),
    Case("CronJob", {"metadata.name": "a" * 53}),
    Case("CronJob", {"spec.schedule": DELETE}),
    Case("CronJob", {"spec.schedule": "* * * *"}),
    Case("CronJob", {"spec.schedule": "60 * * * *"}),
    Case("CronJob", {"spec.schedule": "0 0 * * 7"}),
    Case("CronJob", {"spec.schedule": "*/0 * * * *"}),
    Case("CronJob", {"spec.schedule": "0 0 5-1 * *"}),
    Case("CronJob", {"spec.schedule": "0 0 * * mon-fri"}, None),
    Case("CronJob", {"spec.schedule": "5/15 0 ? JAN,feb *"}, None),
    Case("CronJob", {"spec.schedule": "@daily"}, None),
    Case("CronJob", {"spec.schedule": "@every 1h30m"}, None),
    Case("CronJob", {"spec.schedule": "@every day"}),
    Case("CronJob", {"spec.schedule": "@fortnightly"}),
    Case("CronJob", {"spec.schedule": "CRON_TZ=UTC 0 * * * *"}),
    Case("CronJob", {"spec.timeZone": "Europe/Berlin"}, None),
    Case("CronJob", {"spec.timeZone": "US/Pacific"}, None),
    Case("CronJob", {"spec.timeZone": "Berlin"}),
    Case("CronJob", {"spec.timeZone": "Local"}),
    Case("CronJob", {"spec.timeZone": ""}),
    Case("CronJob", {"spec.concurrencyPolicy": "Never"}),
    Case("CronJob", {"spec.startingDeadlineSeconds": -1}),
    Case("CronJob", {"spec.jobTemplate.spec.template.spec.restartPolicy": DELETE}),
    Case("CronJob", {"spec.jobTemplate.spec.selector": {"matchLabels": {"app": "a"}}}),
    Case("CronJob", {"spec.jobTemplate.spec.manualSelector": True}),
    Case("CronJob", {"spec.jobTemplate.metadata.labels": {"a": "b c"}}, None),
]
APPS = [
    *(Case(kind, {}, None) for kind in ("Deployment", "StatefulSet", "ReplicaSet", "DaemonSet")),
    *(Case(kind, {"spec.selector": DELETE}) for kind in ("Deployment", "StatefulSet", "ReplicaSet", "DaemonSet")),
    *(Case(kind, {"spec.selector": {}}) for kind in ("Deployment", "StatefulSet", "ReplicaSet", "DaemonSet")),
    *(
        Case(kind, {"spec.template.metadata.labels": {"app": "b"}})
        for kind in ("Deployment", "StatefulSet", "ReplicaSet", "DaemonSet")
    ),
    *(
        Case(kind, {f"{_T}.restartPolicy": "Never"})
        for kind in ("Deployment", "StatefulSet", "ReplicaSet", "DaemonSet")
    ),
    *(
        Case(kind, {f"{_T}.activeDeadlineSeconds": 5})
        for kind in ("Deployment", "StatefulSet", "ReplicaSet", "DaemonSet")
    ),
    *(Case(kind, {"spec.replicas": -1}) for kind in ("Deployment", "StatefulSet", "ReplicaSet")),
    *(Case(kind, {"spec.template": DELETE}, f"{_T}.containers") for kind in ("Deployment", "DaemonSet", "StatefulSet")),
    Case("Deployment", {"spec.strategy": {"type": "Rolling"}}, "spec.strategy.type"),
    Case(
        "Deployment",
        {"spec.strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}},
        "spec.strategy.rollingUpdate",
    ),
    Case(
        "Deployment",
        {"spec.strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}},
        "spec.strategy.rollingUpdate.maxUnavailable",
    ),
    Case(
        "Deployment",
        {"spec.strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "0%"}}},
        "spec.strategy.rollingUpdate.maxUnavailable",
    ),
    Case(
        "Deployment",
        {"spec.strategy": {"rollingUpdate": {"maxUnavailable": "25"}}},
        "spec.strategy.rollingUpdate.maxUnavailable",
    ),
    Case(
        "Deployment",
        {"spec.strategy": {"rollingUpdate": {"maxUnavailable": "150%"}}},
        "spec.strategy.rollingUpdate.maxUnavailable",
    ),
    Case("Deployment", {"spec.strategy": {"rollingUpdate": {"maxSurge": "150%"}}}, None),
    Case("Deployment", {"spec.progressDeadlineSeconds": 5, "spec.minReadySeconds": 10}),
    Case("Deployment", {"spec.revisionHistoryLimit": -1}),
    Case(
        "Deployment", {"spec.selector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["a"]}]}}, None
    ),
    Case(
        "Deployment",
        {"spec.selector": {"matchExpressions": [{"key": "app", "operator": "In"}]}},
        "spec.selector.matchExpressions.0.values",
    ),
    Case("Deployment", {"spec.replica": 2}),
    Case("StatefulSet", {"metadata.name": "a.b"}),
    Case("StatefulSet", {"spec.serviceName": "A"}),
    Case("StatefulSet", {"spec.serviceName": DELETE}, None),
    Case("StatefulSet", {"spec.podManagementPolicy": "Ordered"}),
    Case("StatefulSet", {"spec.updateStrategy": {"type": "Recreate"}}, "spec.updateStrategy.type"),
    Case(
        "StatefulSet",
        {"spec.updateStrategy": {"type": "OnDelete", "rollingUpdate": {"partition": 1}}},
        "spec.updateStrategy.rollingUpdate",
    ),
    Case(
        "StatefulSet",
        {"spec.updateStrategy": {"rollingUpdate": {"partition": -1}}},
        "spec.updateStrategy.rollingUpdate.partition",
    ),
    Case(
        "StatefulSet",
        {"spec.persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Keep"}},
        "spec.persistentVolumeClaimRetentionPolicy.whenDeleted",
    ),
    Case(
        "StatefulSet",
        {"spec.volumeClaimTemplates": [_VCT], f"{_C}.volumeMounts": [{"name": "data", "mountPath": "/d"}]},
        None,
    ),
    Case(
        "StatefulSet",
        {"spec.volumeClaimTemplates": [_VCT], f"{_C}.volumeMounts": [{"name": "b", "mountPath": "/d"}]},
        f"{_C}.volumeMounts.0.name",
    ),
    Case(
        "StatefulSet",
        {"spec.volumeClaimTemplates": [{**_VCT, "spec": {"resources": {"requests": {"storage": "1Gi"}}}}]},
        "spec.volumeClaimTemplates.0.spec.accessModes",
    ),
    Case("StatefulSet", {f"{_T}.hostname": "A_b"}, None),
    Case(
        "DaemonSet",
        {"spec.updateStrategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}},
        "spec.updateStrategy.rollingUpdate.maxSurge",
    ),
    Case(
        "DaemonSet",
        {"spec.updateStrategy": {"rollingUpdate": {"maxUnavailable": 0}}},
        "spec.updateStrategy.rollingUpdate.maxUnavailable",
    ),
    Case("DaemonSet", {"spec.updateStrategy": {"type": "Recreate"}}, "spec.updateStrategy.type"),
]
_JS = "spec.replicatedJobs.0"
CUSTOM = [
    *(Case(kind, {}, None) for kind in ("JobSet", "LeaderWorkerSet", "RayCluster", "RayJob", "PyTorchJob", "MPIJob")),
    Case(
        "JobSet",
        {f"{_JS}.template.spec.template.spec.containers.0.resources": {"limits": {"cpu": 0.5}}},
        f"{_JS}.template.spec.template.spec.containers.0.resources.limits.cpu",
    ),
    Case(
        "JobSet",
        {f"{_JS}.template.spec.template.spec.containers.0.resources": {"limits": {"memory": "8GB"}}},
        f"{_JS}.template.spec.template.spec.containers.0.resources.limits.memory",
    ),
    Case("JobSet", {f"{_JS}.replica": 2}),
    Case("JobSet", {f"{_JS}.name": DELETE}),
    Case("JobSet", {f"{_JS}.replicas": "2"}),
    Case("JobSet", {f"{_JS}.template.spec.template.metadata.creationTimestamp": None}),
    Case(
        "JobSet",
        {"spec.replicatedJobs.1": {"name": "w", "template": {"spec": {"template": TEMPLATE}}}},
        "spec.replicatedJobs",
    ),
    Case("JobSet", {f"{_JS}.template.spec.template.spec.containers": DELETE}),
    Case("JobSet", {"spec.failurePolicy": {"maxRestarts": "3"}}, "spec.failurePolicy.maxRestarts"),
    Case("JobSet", {"spec.successPolicy": {"operator": "Every"}}, "spec.successPolicy.operator"),
    Case("JobSet", {"metadata.annotations": {"a": 1}}, "metadata.annotations.a"),
    Case(
        "JobSet",
        {
            "spec.startupPolicy": {"startupPolicyOrder": "InOrder"},
            "spec.replicatedJobs.1": {
                "name": "v",
                "dependsOn": [{"name": "w", "status": "Ready"}],
                "template": {"spec": {"template": TEMPLATE}},
            },
        },
        "spec.startupPolicy",
    ),
    Case("LeaderWorkerSet", {"spec.leaderWorkerTemplate.sizes": 4}),
    Case("LeaderWorkerSet", {"spec.leaderWorkerTemplate.workerTemplate": DELETE}),
    Case("LeaderWorkerSet", {"spec.startupPolicy": "Leader"}),
    Case("LeaderWorkerSet", {"spec.leaderWorkerTemplate.restartPolicy": "Never"}),
    Case("RayCluster", {"spec.headGroupSpec": DELETE}),
    Case("RayCluster", {"spec.workerGroupSpecs.0.groupName": DELETE}),
    Case(
        "RayCluster",
        {"spec.headGroupSpec.rayStartParams": {"num-gpus": 1}},
        "spec.headGroupSpec.rayStartParams.num-gpus",
    ),
    Case("RayCluster", {"spec.managedBy": "me"}),
    Case("RayJob", {"spec.entryPoint": "run"}),
    Case("RayJob", {"spec.shutdownAfterJobFinishes": "yes"}),
    Case("RayJob", {"spec.deletionStrategy": {"onSuccess": {"policy": "DeleteCluster"}}}),
    Case("PyTorchJob", {"spec.pytorchReplicaSpecs": DELETE}),
    Case("PyTorchJob", {"spec.pytorchReplicaSpecs.Worker.replica": 2}),
    Case("PyTorchJob", {"spec.nprocPerNode": 8}),
    Case("MPIJob", {"spec.mpiReplicaSpecs": DELETE}),
    Case("MPIJob", {"spec.slotsPerWorker": "8"}),
    Case("TrainJob", {"spec.runtimeRef": DELETE}, "spec.runtimeRef"),
    Case("TrainJob", {"spec.trainer": {"numNodes": "2"}}, "spec.trainer.numNodes"),
    Case("TrainJob", {"metadata.name": "1a"}),
]
WORKLOAD_CASES = [*JOBS, *CRON_JOBS, *APPS, *CUSTOM]
_QUEUE = "metadata|labels|kueue.x-k8s.io/queue-name"
_REQUIRED, _SLICE, _SIZE = (
    f"kueue.x-k8s.io/podset-{name}" for name in ("required-topology", "slice-required-topology", "slice-size")
)
_ANNOTATIONS = "spec|template|metadata|annotations"
_MINIMUM = "metadata|annotations|kueue.x-k8s.io/job-min-parallelism"
_TWO = {"name": "v", "template": {"spec": {"template": TEMPLATE}}}
WEBHOOK_CASES = [
    Case("Job", {_QUEUE: "team_a"}),
    Case("Job", {_QUEUE: "Team"}),
    Case("Deployment", {_QUEUE: "Team"}),
    Case("Job", {_MINIMUM: "2", "spec.parallelism": 4, "spec.completions": 4}, None),
    Case("Job", {_MINIMUM: "4", "spec.parallelism": 4}),
    Case("Job", {_MINIMUM: "two"}),
    Case("Job", {"metadata|labels|kueue.x-k8s.io/max-exec-time-seconds": "0"}),
    Case("JobSet", {"metadata|annotations|kueue.x-k8s.io/elastic-job": "true"}),
    Case("Job", {_ANNOTATIONS: {_REQUIRED: "a", "kueue.x-k8s.io/podset-preferred-topology": "b"}}),
    Case("Job", {_ANNOTATIONS: {_REQUIRED: "a b"}}, f"{_ANNOTATIONS}|{_REQUIRED}"),
    Case("Job", {_ANNOTATIONS: {_SLICE: "a"}}, f"{_ANNOTATIONS}|{_SIZE}"),
    Case("Job", {_ANNOTATIONS: {_SLICE: "a", _SIZE: "4"}, "spec.parallelism": 2}, f"{_ANNOTATIONS}|{_SIZE}"),
    Case("Job", {_ANNOTATIONS: {_REQUIRED: "a", _SLICE: "a", _SIZE: "2"}, "spec.parallelism": 2}, None),
    Case(
        "Job",
        {_ANNOTATIONS: {"kueue.x-k8s.io/podset-unconstrained-topology": "yes"}},
        f"{_ANNOTATIONS}|kueue.x-k8s.io/podset-unconstrained-topology",
    ),
    Case("Job", {"metadata|annotations|kueue.x-k8s.io/admission-gated-by": "a"}),
    Case(
        "Pod",
        {"metadata|labels|kueue.x-k8s.io/pod-group-name": "g"},
        "metadata|annotations|kueue.x-k8s.io/pod-group-total-count",
    ),
    Case("JobSet", {"metadata.name": _LONG}, f"{_JS}.name"),
    Case("JobSet", {f"{_JS}.dependsOn": [{"name": "w", "status": "Ready"}]}),
    Case(
        "JobSet",
        {"spec.replicatedJobs.1": {**_TWO, "dependsOn": [{"name": "x", "status": "Ready"}]}},
        "spec.replicatedJobs.1.dependsOn.0.name",
    ),
    Case(
        "JobSet",
        {"spec.successPolicy": {"operator": "All", "targetReplicatedJobs": ["x"]}},
        "spec.successPolicy.targetReplicatedJobs.0",
    ),
    Case(
        "JobSet",
        {"spec.failurePolicy": {"rules": [{"action": "FailJobSet", "targetReplicatedJobs": ["x"]}]}},
        "spec.failurePolicy.rules.0.targetReplicatedJobs.0",
    ),
    Case(
        "JobSet",
        {"spec.failurePolicy": {"rules": [{"action": "FailJobSet", "onJobFailureReasons": ["Failed"]}]}},
        "spec.failurePolicy.rules.0.onJobFailureReasons.0",
    ),
    Case(
        "JobSet",
        {"spec.failurePolicy": {"rules": [{"action": "FailJobSet", "name": "1"}]}},
        "spec.failurePolicy.rules.0.name",
    ),
    Case("JobSet", {"spec.coordinator": {"replicatedJob": "x"}}, "spec.coordinator.replicatedJob"),
    Case("JobSet", {"spec.coordinator": {"replicatedJob": "w", "jobIndex": 2}}, "spec.coordinator.jobIndex"),
    Case("JobSet", {"spec.coordinator": {"replicatedJob": "w", "podIndex": 2}}, "spec.coordinator.podIndex"),
    Case("JobSet", {"spec.network": {"subdomain": "1a"}}, "spec.network.subdomain"),
    Case("LeaderWorkerSet", {"metadata.name": "1a"}),
    Case("LeaderWorkerSet", {"spec.leaderWorkerTemplate.size": 0}),
    Case(
        "LeaderWorkerSet",
        {"spec.leaderWorkerTemplate.subGroupPolicy": {"subGroupSize": 3}, "spec.leaderWorkerTemplate.size": 6},
        None,
    ),
    Case(
        "LeaderWorkerSet",
        {"spec.leaderWorkerTemplate.subGroupPolicy": {"subGroupSize": 4}, "spec.leaderWorkerTemplate.size": 6},
        "spec.leaderWorkerTemplate.subGroupPolicy.subGroupSize",
    ),
    Case(
        "LeaderWorkerSet",
        {
            "spec.rolloutStrategy": {
                "type": "RollingUpdate",
                "rollingUpdateConfiguration": {"maxUnavailable": 0, "maxSurge": 0},
            }
        },
        "spec.rolloutStrategy.rollingUpdateConfiguration.maxUnavailable",
    ),
    Case("RayJob", {_QUEUE: "a", "spec.shutdownAfterJobFinishes": False}, "spec.shutdownAfterJobFinishes"),
    Case(
        "RayJob",
        {_QUEUE: "a", "spec.rayClusterSpec.enableInTreeAutoscaling": True},
        "spec.rayClusterSpec.enableInTreeAutoscaling",
    ),
    Case("RayCluster", {_QUEUE: "a", "spec.workerGroupSpecs.0.groupName": "head"}, "spec.workerGroupSpecs.0.groupName"),
    Case(
        "PyTorchJob",
        {"spec.pytorchReplicaSpecs.Worker.template.spec.containers.0.name": "main"},
        "spec.pytorchReplicaSpecs.Worker.template.spec.containers",
    ),
    Case("PyTorchJob", {"spec.pytorchReplicaSpecs.Master.replicas": 2}),
    Case(
        "PyTorchJob",
        {
            "spec.pytorchReplicaSpecs.Launcher": {
                "template": {"spec": {"containers": [{**CONTAINER, "name": "pytorch"}]}}
            }
        },
    ),
    Case("PyTorchJob", {"spec.runPolicy": {"managedBy": "me"}}, "spec.runPolicy.managedBy"),
]
"""Objects that only webhooks refuse, which a bare API server accepts."""
