"""A gang as a JobSet. A gang is the pods of a training run, which start together and restart together.

If a Job replaced a single pod, the ranks of the other pods would wait in NCCL until a timeout. In a JobSet, one lost
pod ends the Job, and the JobSet starts all pods again from the last checkpoint.
"""

from collections.abc import Mapping

from gpuc.emit.job_template import (
    KEEP_FINISHED_SECONDS,
    SHUTDOWN_SECONDS,
    container_security,
    grace_seconds,
    pod_metadata,
)
from gpuc.emit.workload_template import USAGE, Template
from gpuc.manifest.manifest import Body, Manifest
from gpuc.model.tenant import Run
from gpuc.model.time_limits import pods_ready_minutes

NODE = "node"
"""The name of the replicated job and of its container. Kubeflow Trainer expects this name.

Source: kubeflow/trainer v2.3.0 pkg/constants/constants.go (Node), pkg/webhooks/trainingruntime_webhook.go
"""
CHECKPOINTS = "/checkpoints"
ASK_SECONDS = 300
"""The longest wait for a checkpoint that a pod asks for. The ranks of a gang that lost a node do not answer, and the
new gang starts after the wait."""
_REQUEST = "/dev/shm/checkpoint-requested"
"""The file that a pod creates when it ends, to ask its ranks for a checkpoint."""


def job_set(template: Template, run: Run | None, environment: Mapping[str, str], labels: Mapping[str, str]) -> Body:
    """Returns the spec of a JobSet with one Job, whose pods are the nodes of a run.

    Args:
        run: the training runtime, with checkpoints and restarts; None for a template of a pool.
        environment: further variables of the container.
        labels: labels of the Job.

    Source: kubernetes-sigs/jobset v0.12.0 pkg/controllers/failure_policy.go, api/jobset/v1alpha2/jobset_types.go
    """
    runs, job = template.pool.spec.runs, {"backoffLimit": 0, "completionMode": "Indexed"}
    # A lost node ends the Job with the reason PodFailurePolicy, another failure with BackoffLimitExceeded.
    lost = {"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    rules = [_rule("lostNode", "RestartJobSetAndIgnoreMaxRestarts", "PodFailurePolicy")]
    if runs:
        rules.append(_rule("longestRun", "FailJobSet", "DeadlineExceeded"))
    spec: Body = {
        **job, "parallelism": template.pods, "completions": template.pods,
        **({"activeDeadlineSeconds": runs.longest} if runs else {}),
        "podFailurePolicy": {"rules": [lost]},
        "template": gang_pod(template, run, environment),
    }  # fmt: skip
    metadata = {"metadata": {"labels": dict(labels)}} if labels else {}
    return {
        # BlockingRecreate: new pods start when the old ones have freed their GPUs.
        "failurePolicy": {
            "maxRestarts": run.spec.restarts if run else 3, "restartStrategy": "BlockingRecreate", "rules": rules,
        },
        "ttlSecondsAfterFinished": KEEP_FINISHED_SECONDS,
        # The API server adds the group; without it, Argo CD would see a difference in each runtime.
        "replicatedJobs": [
            {"name": NODE, "groupName": "default", "replicas": 1, "template": {**metadata, "spec": spec}}
        ],
    }  # fmt: skip


def _rule(name: str, action: str, reason: str) -> Body:
    return {"name": name, "action": action, "onJobFailureReasons": [reason]}


def gang_pod(
    template: Template, run: Run | None, environment: Mapping[str, str], name: str = NODE, *, trains: bool = True
) -> Body:
    """Returns the pod template of a gang. Its restartPolicy is Never, because a podFailurePolicy requires this value.

    Args:
        run, environment: as for job_set.
        name: the name of the container.
        trains: whether the container runs torchrun; otherwise the controller writes the command of the container.
    """
    every = run.checkpoint_seconds if run else None
    grace = grace_seconds(template.pool, every)
    container = template.container(["torchrun", "train.py"], container_security(template)) | {"name": name}
    if not trains:
        del container["command"]
    variables = dict(environment)
    if template.place.nccl:
        container["envFrom"] = [{"configMapRef": {"name": template.place.nccl.config_map}}]
    volumes = template.volumes.get("volumes", [])
    waits = 0
    if run and run.spec.checkpoints:
        variables["CHECKPOINT_DIR"] = CHECKPOINTS
        variables |= {"CHECKPOINT_SECONDS": str(every)} if every else {}
        container["volumeMounts"] = [*container["volumeMounts"], {"name": "checkpoints", "mountPath": CHECKPOINTS}]
        claim = {"claimName": run.spec.checkpoints.claim}
        volumes = [*volumes, {"name": "checkpoints", "persistentVolumeClaim": claim}]
        waits = min(ASK_SECONDS, grace // 2)
        if waits:
            variables["CHECKPOINT_REQUEST"] = _REQUEST
            container["lifecycle"] = {"preStop": {"exec": {"command": _asks_for_checkpoint(waits)}}}
    if trains and grace - waits > SHUTDOWN_SECONDS:
        variables["TORCH_ELASTIC_SHUTDOWN_TIMEOUT"] = str(grace - waits - SHUTDOWN_SECONDS)
    if variables:
        container["env"] = [{"name": name, "value": value} for name, value in variables.items()]
    spec = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        **({"terminationGracePeriodSeconds": grace} if grace else {}),
        **template.scheduling,
        **({"priorityClassName": run.spec.priority} if run and _has_class(template, run) else {}),
        **({} if template.runs_as_root else {"securityContext": template.pod_security}),
        "containers": [container],
        **({"volumes": volumes} if volumes else {}),
    }
    return {**pod_metadata(template), "spec": spec}


def _has_class(template: Template, run: Run) -> bool:
    priority = template.cluster.spec.priorities.get(run.spec.priority or "")
    return priority is not None and priority.pods


def _asks_for_checkpoint(seconds: int) -> list[str]:
    """Returns a command that asks the ranks for a checkpoint, and waits until they have removed the file.

    The wait is a part of the grace period: the ranks get SIGTERM after it.

    Source: kubernetes/kubernetes v1.35.4 pkg/kubelet/kuberuntime/kuberuntime_container.go (killContainer)
    """
    wait = f"for second in $(seq {seconds}); do [ -e {_REQUEST} ] || exit 0; sleep 1; done"
    return ["sh", "-c", f"touch {_REQUEST}; {wait}"]


def wait_for_nodes(template: Template) -> dict[str, str]:
    """Returns the environment variable of torchrun's timeout: ranks wait for each other as long as Kueue for the pods.

    Without the variable, the ranks wait 15 minutes, the default of torchrun.

    Source: pytorch/pytorch v2.15.0 torch/distributed/argparse_util.py (env), launcher/api.py
    """
    return {"PET_RDZV_CONF": f"timeout={pods_ready_minutes(template.cluster) * 60}"}


def gang_manifest(template: Template, api: str, kind: str, spec: Body, command: str) -> Manifest:
    """Returns the template of a gang for a kind of another project than Kubernetes, for example a PyTorchJob.

    Args:
        api: the apiVersion of the kind.
        command: a sentence that explains how users set the command and the number of nodes.
    """
    file = template.cluster.out(f"workloads/{template.name}.{kind.lower()}.yaml")
    usage = {USAGE: f"{template.usage('whole')} {command}"}
    name, namespace = template.name, template.place.namespace
    return Manifest(file, template.pool.path, api, kind, name, {"spec": spec}, namespace, template.labels, usage)
