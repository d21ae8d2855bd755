"""The workload template of a pool for work that ends: a Job that Kueue admits."""

from collections.abc import Iterator

from gpuc.emit.commands import NO_PROGRESS_CODE, RESTARTS, STOPPED_CODE, open_contexts, restart_in_place
from gpuc.emit.workload_template import USAGE, Template
from gpuc.kubernetes.kueue import PREFERRED_TOPOLOGY
from gpuc.manifest.manifest import Body, Manifest
from gpuc.model import Pool
from gpuc.model.names import GPU
from gpuc.model.time_limits import pods_ready_minutes

RENDEZVOUS_PORT = 29500
KEEP_FINISHED_SECONDS = 86400
RETRIES = 3
"""How often a pod of a Job is replaced after a failure."""
SHUTDOWN_SECONDS = 10
"""The time between the end of the ranks and the end of the grace period.

After SIGTERM, torchrun kills the ranks after 30 seconds by default, also if the grace period of the pod is longer.

Source: pytorch/pytorch v2.15.0 torch/distributed/launcher/api.py (TORCH_ELASTIC_SHUTDOWN_TIMEOUT)
"""


def job_template(template: Template) -> Iterator[Manifest]:
    """Yields the Job, and for a gang the headless Service that gives its pods DNS names."""
    file = template.cluster.out(f"workloads/{template.pool.name}.yaml")
    origin, namespace = template.pool.path, template.place.namespace
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
    usage = template.usage("gang" if template.is_gang else "job", restarts=RESTARTS, retries=RETRIES)
    body = {"spec": _job(template)}
    yield Manifest(file, origin, "batch/v1", "Job", template.name, body, namespace, template.labels, {USAGE: usage})


def _job(template: Template) -> Body:
    """Returns the spec of the Job. It does not contain `suspend`, because Kueue sets this field."""
    runs = template.pool.spec.runs
    return {
        "parallelism": template.pods,
        "completions": template.pods,
        "completionMode": "Indexed",
        **_retries(template),
        **({"activeDeadlineSeconds": runs.longest} if runs else {}),
        "ttlSecondsAfterFinished": KEEP_FINISHED_SECONDS,
        "podFailurePolicy": {"rules": _failure_rules(template)},
        "template": {**pod_metadata(template), "spec": _pod(template)},
    }


def _failure_rules(template: Template) -> list[Body]:
    """Returns the rules for pods that failed.

    The first rule that matches applies. Failures without a matching rule use up a retry. The loss of a node does not. A
    pod that gets SIGTERM without the condition DisruptionTarget was deleted, for example by the autoscaler at the end
    of the grace period of a node.

    Source: kubernetes/kubernetes v1.35.4 pkg/controller/job/pod_failure_policy.go
    """
    lost: Body = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    if not template.is_gang:
        return [lost]
    codes = {"Ignore": STOPPED_CODE, "FailJob": NO_PROGRESS_CODE}
    return [lost, *({"action": a, "onExitCodes": {"operator": "In", "values": [code]}} for a, code in codes.items())]


def _retries(template: Template) -> Body:
    """Returns the limits of retries. For a gang, they count by pod.

    backoffLimit would count the failures of all pods together. With maxFailedIndexes: 0, the Job fails as soon as one
    pod has no retries left, because the other pods cannot continue without it.

    Source: kubernetes/kubernetes v1.35.4 pkg/controller/job/job_controller.go (MaxFailedIndexesExceeded),
    pkg/apis/batch/v1/defaults.go (backoffLimit has no effect by default with backoffLimitPerIndex)
    """
    return {"backoffLimitPerIndex": RETRIES, "maxFailedIndexes": 0} if template.is_gang else {"backoffLimit": RETRIES}


def pod_metadata(template: Template) -> Body:
    """Returns the annotations of the pods: some keep the node running, and one is the topology level for Kueue."""
    annotations = dict(template.pool.scaling.run_annotations) if template.pool.scaling else {}
    levels = template.pool.spec.topology
    if levels:
        level = "block" if "block" in levels else levels[0]
        annotations[PREFERRED_TOPOLOGY] = template.pool.level_labels[level]
    return {"metadata": {"annotations": annotations}} if annotations else {}


def _pod(template: Template) -> Body:
    grace = grace_seconds(template.pool)
    body = template.container(_command(template), container_security(template))
    if template.is_gang and template.place.nccl:
        body["envFrom"] = [{"configMapRef": {"name": template.place.nccl.config_map}}]
    if template.is_gang and grace > SHUTDOWN_SECONDS:
        body["env"] = [{"name": "TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "value": str(grace - SHUTDOWN_SECONDS)}]
    return {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        **({"subdomain": template.name} if template.is_gang else {}),
        **({"terminationGracePeriodSeconds": grace} if grace else {}),
        **template.scheduling,
        **({} if template.runs_as_root else {"securityContext": template.pod_security}),
        "containers": [body],
        **template.volumes,
    }


def grace_seconds(pool: Pool, every: int | None = None) -> int:
    """Returns the grace period of pods in seconds: the time between two checkpoints; 0 without checkpoints.

    On spot capacity, the grace period is at most the time between the notice of an interruption and the interruption.

    every: the seconds between two checkpoints; by default the value of the pool.
    """
    every = every or (pool.spec.runs.checkpoint_every if pool.spec.runs else None)
    if not every:
        return 0
    notice_seconds = pool.scaling.notice_seconds if pool.scaling else None
    return min(every, notice_seconds) if notice_seconds else every


def _command(template: Template) -> list[str]:
    if template.is_gang:
        return _torchrun(template)
    return open_contexts() if template.pool.is_gpu else ["python3", "work.py"]


def _torchrun(template: Template) -> list[str]:
    """Returns the command of a gang, with the rank of the node and the address of pod 0.

    The pods wait for each other as long as Kueue waits for the pods. With --rdzv-backend=c10d, a pod would fail if pod
    0 starts a minute later. The full DNS name of pod 0 is in /etc/hosts of pod 0, so that pod 0 needs no DNS record.

    Source: pytorch/pytorch v2.15.0 torch/distributed/run.py (--node-rank), launcher/api.py (900 seconds by default),
    torch/distributed/elastic/rendezvous/static_tcp_rendezvous.py (timeout)
    """
    wait_seconds = pods_ready_minutes(template.cluster) * 60
    every = template.pool.spec.runs.checkpoint_every if template.pool.spec.runs else None
    torchrun = [
        "torchrun",
        f"--nnodes={template.pods}",
        f"--nproc-per-node={template.resources[GPU]}",
        "--node-rank=$(JOB_COMPLETION_INDEX)",
        f"--master-addr={template.name}-0.{template.name}.{template.place.namespace}.svc.cluster.local",
        f"--master-port={RENDEZVOUS_PORT}",
        f"--rdzv-conf=timeout={wait_seconds}",
        "train.py",
    ]
    # torchrun fails if it waits longer for the other pods, so that the ranks of longer runs had one interval.
    return restart_in_place(torchrun, wait_seconds + every if every else None)


def container_security(template: Template) -> Body:
    """Returns the security context of a container: with no capabilities, or for root with those that EFA needs."""
    if template.runs_as_root:
        return {"capabilities": {"add": ["IPC_LOCK"]}} if template.locks_memory else {}
    return {"capabilities": {"drop": ["ALL"]}}
