"""A template that users copy: a PyTorchJob on several nodes, for clusters with the Kubeflow Training Operator."""

from collections.abc import Iterator

from gpuc.emit.gang_template import gang_manifest, gang_pod, wait_for_nodes
from gpuc.emit.job_template import KEEP_FINISHED_SECONDS
from gpuc.emit.workload_template import Template
from gpuc.manifest.manifest import Body, Manifest
from gpuc.model.names import GPU

_USAGE = (
    "For more nodes, increase replicas of Worker. The Training Operator gets no new features: use TrainJobs for new "
    "work. If a pod fails or a node is lost, the job fails: create it again, and load the last checkpoint."
)


def gang(template: Template) -> Iterator[Manifest]:
    """Yields the PyTorchJob. The operator sets the variables of torchrun: address, rank and number of nodes.

    Source: kubeflow/training-operator v1.9.3 pkg/controller.v1/pytorch/envvar.go, master.go
    """
    if "kubeflow.org/pytorchjob" not in template.cluster.frameworks:
        return
    runs = template.pool.spec.runs
    replica: Body = {
        "restartPolicy": "Never",
        "template": gang_pod(template, None, wait_for_nodes(template), "pytorch"),
    }
    workers = {"Worker": {"replicas": template.pods - 1, **replica}} if template.pods > 1 else {}
    spec: Body = {
        "nprocPerNode": str(template.resources[GPU]),
        "runPolicy": {
            "cleanPodPolicy": "Running",
            "ttlSecondsAfterFinished": KEEP_FINISHED_SECONDS,
            **({"activeDeadlineSeconds": runs.longest} if runs else {}),
        },
        "pytorchReplicaSpecs": {"Master": {"replicas": 1, **replica}, **workers},
    }
    yield gang_manifest(template, "kubeflow.org/v1", "PyTorchJob", spec, _USAGE)
