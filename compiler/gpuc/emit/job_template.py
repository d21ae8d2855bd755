"""The workload template of a pool for runs that end: a Job that Kueue admits."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.emit.cuda_commands import open_contexts
from gpuc.emit.start_limits import pods_ready_minutes
from gpuc.emit.workload_template import (
    SPOT_NOTICE_SECONDS,
    USAGE,
    Template,
    common_usage,
    container,
    pod_security,
    queue_labels,
    scheduling,
    volumes,
)
from gpuc.kubernetes.kueue import LEVEL_LABELS, PREFERRED_TOPOLOGY
from gpuc.manifest.manifest import Body, Manifest
from gpuc.model import Cluster, Pool
from gpuc.model.names import GPU

RENDEZVOUS_PORT = 29500
KEEP_FINISHED_SECONDS = 86400
RETRIES = 3
"""How often the pod of a Job is started again after a failure."""
GANG_RETRIES = 6
"""How often each pod of a gang is started again after a failure.

One failure of the gang can use two retries of a pod: a new pod can start while the old pod 0 still runs, and then fails
together with the old pod 0.
"""


def job_template(cluster: Cluster, template: Template) -> Iterator[Manifest]:
    """Yields the Job, and for a gang the headless Service that gives its pods DNS names."""
    file = cluster.out(f"workloads/{template.pool.name}.yaml")
    origin, namespace = template.pool.path, template.namespace.name
    if template.is_gang:
        service: Body = {
            "spec": {
                "clusterIP": "None",
                # Pods resolve the DNS names of the other pods before they are ready.
                "publishNotReadyAddresses": True,
                "selector": {"job-name": template.name},
                "ports": [{"name": "rendezvous", "port": RENDEZVOUS_PORT, "protocol": "TCP"}],
            }
        }
        yield Manifest(file, origin, "v1", "Service", template.name, service, namespace)
    labels, annotations = queue_labels(cluster, template), {USAGE: _usage(template)}
    body = {"spec": _job(cluster, template)}
    yield Manifest(file, origin, "batch/v1", "Job", template.name, body, namespace, labels, annotations)


def _usage(template: Template) -> str:
    text = "Replace image and command, then run kubectl apply -f with this file. "
    if template.is_gang:
        text += (
            "Each pod uses a complete node. For more nodes, increase parallelism, completions and --nnodes together. "
            "For another name, change the names of the Job and the Service, job-name, subdomain and --master-addr "
            "together. If a pod fails or loses its node, the other pods fail after the timeout of NCCL, and all pods "
            f"start again: load the last checkpoint at the start. A pod can fail {GANG_RETRIES} times; the loss of its "
            "own node does not count. "
        )
    elif template.pool.is_gpu:
        text += "The command opens a CUDA context on each GPU of the container, and needs an image with python3. "
    return text + common_usage(template)


def _job(cluster: Cluster, template: Template) -> Body:
    """Returns the spec of the Job. It does not contain `suspend`, because Kueue sets this field."""
    runs = template.pool.spec.runs
    return {
        "parallelism": template.pods,
        "completions": template.pods,
        "completionMode": "Indexed",
        **_retries(template),
        **({"activeDeadlineSeconds": runs.longest} if runs else {}),
        "ttlSecondsAfterFinished": KEEP_FINISHED_SECONDS,
        # The loss of a node does not count as a failure of the pod.
        "podFailurePolicy": {
            "rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]
        },
        "template": {**_pod_metadata(template), "spec": _pod(cluster, template)},
    }


def _retries(template: Template) -> Body:
    """Returns the limits of retries. For a gang, they count by pod, because all its pods fail together.

    backoffLimit would count the failures of all pods: with four nodes, one failure of the gang is four failures. With
    maxFailedIndexes: 0, the Job fails as soon as one pod has no retries left.

    Source: kubernetes/kubernetes v1.35.4 pkg/controller/job/job_controller.go (MaxFailedIndexesExceeded),
    pkg/apis/batch/v1/defaults.go (backoffLimit has no effect by default with backoffLimitPerIndex)
    """
    return (
        {"backoffLimitPerIndex": GANG_RETRIES, "maxFailedIndexes": 0} if template.is_gang else {"backoffLimit": RETRIES}
    )


def _pod_metadata(template: Template) -> Body:
    annotations: dict[str, str] = {}
    if template.pool.spec.runs:
        annotations["karpenter.sh/do-not-disrupt"] = "true"
    levels = template.pool.spec.topology
    if levels:
        level = "block" if "block" in levels else levels[0]
        annotations[PREFERRED_TOPOLOGY] = LEVEL_LABELS[level]
    return {"metadata": {"annotations": annotations}} if annotations else {}


def _pod(cluster: Cluster, template: Template) -> Body:
    grace_seconds = _grace_seconds(template.pool)
    body = container(cluster, template, _command(cluster, template), _container_security(template))
    if template.is_gang and template.namespace.nccl:
        body["envFrom"] = [{"configMapRef": {"name": template.namespace.nccl.config_map}}]
    return {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        **({"subdomain": template.name} if template.is_gang else {}),
        **({"terminationGracePeriodSeconds": grace_seconds} if grace_seconds else {}),
        **scheduling(cluster, template),
        **({} if template.runs_as_root else {"securityContext": pod_security(template)}),
        "containers": [body],
        **volumes(template),
    }


def _grace_seconds(pool: Pool) -> int:
    """Returns the grace period: one checkpoint interval, but on spot at most the time of the interruption notice."""
    every = pool.spec.runs.checkpoint_every if pool.spec.runs else None
    if not every:
        return 0
    return min(every, SPOT_NOTICE_SECONDS) if "spot" in pool.spec.purchase else every


def _command(cluster: Cluster, template: Template) -> list[str]:
    if template.is_gang:
        return _torchrun(cluster, template)
    return open_contexts() if template.pool.is_gpu else ["python3", "work.py"]


def _torchrun(cluster: Cluster, template: Template) -> list[str]:
    """Returns the command of a gang, with the rank of the node and the address of pod 0.

    The pods wait for each other as long as Kueue waits for the pods. With --rdzv-backend=c10d, a pod would fail if pod
    0 starts a minute later. The full DNS name of pod 0 is in /etc/hosts of pod 0, so that pod 0 needs no DNS record.

    Source: pytorch/pytorch v2.15.0 torch/distributed/run.py (--node-rank), launcher/api.py (900 seconds by default),
    torch/distributed/elastic/rendezvous/static_tcp_rendezvous.py (timeout)
    """
    return [
        "torchrun",
        f"--nnodes={template.pods}",
        f"--nproc-per-node={template.resources[GPU]}",
        "--node-rank=$(JOB_COMPLETION_INDEX)",
        f"--master-addr={template.name}-0.{template.name}.{template.namespace.name}.svc.cluster.local",
        f"--master-port={RENDEZVOUS_PORT}",
        f"--rdzv-conf=timeout={pods_ready_minutes(cluster) * 60}",
        "train.py",
    ]


def _container_security(template: Template) -> Body:
    """Returns the settings of level restricted, unless the container runs as root."""
    if template.runs_as_root:
        return {"capabilities": {"add": ["IPC_LOCK"]}} if template.locks_memory else {}
    return {"capabilities": {"drop": ["ALL"]}}
