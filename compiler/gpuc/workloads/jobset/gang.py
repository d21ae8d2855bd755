"""A template that users copy: a JobSet whose pods start together on several nodes, if there is no Kubeflow Trainer."""

from collections.abc import Iterator

from gpuc.emit.gang_template import NODE, gang_manifest, job_set, wait_for_nodes
from gpuc.emit.job_template import RENDEZVOUS_PORT
from gpuc.emit.workload_template import Template
from gpuc.kubernetes.controllers import JOBSET
from gpuc.manifest.manifest import Manifest
from gpuc.model.names import GPU

_USAGE = (
    "For more nodes, increase parallelism, completions and PET_NNODES together. For another name, also change "
    "PET_MASTER_ADDR. If a node is lost, all pods start again; after another failure they do so 3 times."
)


def gang(template: Template) -> Iterator[Manifest]:
    """Yields the JobSet. Its first pod has its own full DNS name in /etc/hosts, so the pod needs no DNS record.

    Source: kubernetes-sigs/jobset v0.12.0 pkg/controllers/jobset_controller.go (GenPodName, GenSubdomain)
    """
    if "jobset" not in template.cluster.components or JOBSET not in template.cluster.frameworks:
        return
    name, namespace = template.name, template.place.namespace
    environment = {
        "PET_NNODES": str(template.pods),
        "PET_NPROC_PER_NODE": str(template.resources[GPU]),
        "PET_NODE_RANK": "$(JOB_COMPLETION_INDEX)",
        "PET_MASTER_ADDR": f"{name}-{NODE}-0-0.{name}.{namespace}.svc.cluster.local",
        "PET_MASTER_PORT": str(RENDEZVOUS_PORT),
        **wait_for_nodes(template),
    }
    spec = job_set(template, None, environment, {})
    yield gang_manifest(template, "jobset.x-k8s.io/v1alpha2", "JobSet", spec, _USAGE)
