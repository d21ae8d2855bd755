"""A template that users copy: a RayJob whose head and workers start together, each on a complete node."""

from collections.abc import Iterator

from gpuc.emit.gang_template import gang_manifest, gang_pod
from gpuc.emit.workload_template import Template
from gpuc.manifest.manifest import Body, Manifest

_USAGE = (
    "The image needs Ray. Set the command in entrypoint. For more nodes, increase replicas, minReplicas and "
    "maxReplicas of the workers together. The name can have up to 47 characters."
)


def gang(template: Template) -> Iterator[Manifest]:
    """Yields the RayJob. It deletes its Ray cluster at the end, because Kueue refuses a RayJob that keeps the cluster.

    Source: kubernetes-sigs/kueue v0.19.2 pkg/controller/jobs/rayjob/rayjob_webhook.go; ray-project/kuberay v1.6.2
    ray-operator/apis/ray/v1/rayjob_types.go (HTTPMode: the operator submits the job, without a pod)
    """
    if "kuberay" not in template.cluster.components or "ray.io/rayjob" not in template.cluster.frameworks:
        return
    runs, workers = template.pool.spec.runs, template.pods - 1
    counts = dict.fromkeys(("replicas", "minReplicas", "maxReplicas"), workers)
    group: Body = {"groupName": "workers", **counts, **_group(template, "ray-worker")}
    spec: Body = {
        "entrypoint": "python train.py",
        "submissionMode": "HTTPMode",
        "shutdownAfterJobFinishes": True,
        "ttlSecondsAfterFinished": 60,  # then the pods end, which no quota counts after the end of the job
        **({"activeDeadlineSeconds": runs.longest} if runs else {}),
        "rayClusterSpec": {
            "headGroupSpec": _group(template, "ray-head"),
            **({"workerGroupSpecs": [group]} if workers else {}),
        },
    }
    yield gang_manifest(template, "ray.io/v1", "RayJob", spec, _USAGE)


def _group(template: Template, container: str) -> Body:
    # The dashboard of the head answers the operator and the other pods. Without rayStartParams, the webhook of Kueue
    # writes null, which the API server refuses: block is what KubeRay sets anyway.
    # Source: ray-project/kuberay v1.6.2 ray-operator: apis/ray/v1/raycluster_types.go (RayStartParams without
    # omitempty), controllers/ray/common/pod.go (setMissingRayStartParams)
    parameters = {"dashboard-host": "0.0.0.0"} if container == "ray-head" else {"block": "true"}
    return {"rayStartParams": parameters, "template": gang_pod(template, None, {}, container, trains=False)}
