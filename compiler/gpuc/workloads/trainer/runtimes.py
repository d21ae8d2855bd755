"""Creates a TrainingRuntime for each entry of `trains` in the spec, and a template of a TrainJob that uses it.

Source: kubeflow/trainer v2.3.0 pkg/apis/trainer/v1alpha1, pkg/runtime/framework/plugins/torch/torch.go
"""

from collections.abc import Iterator

from gpuc.emit.gang_template import job_set, wait_for_nodes
from gpuc.emit.sync import protected
from gpuc.emit.workload_template import USAGE, Place, Template
from gpuc.emit.workloads import node_requests
from gpuc.kubernetes.kueue import PRIORITY_LABEL
from gpuc.manifest.manifest import Artifact, Body, Manifest
from gpuc.model import Cluster, Tenant
from gpuc.model.tenant import Run
from gpuc.workloads.trainer.resolved import ANCESTOR, GROUP

API = f"{GROUP}/v1alpha1"


def synced(cluster: Cluster, tenant: Tenant, file: str) -> Iterator[Artifact]:
    """Yields the TrainingRuntimes of a tenant, which Argo CD applies.

    Argo CD never deletes a TrainingRuntime, because a TrainJob in a queue cannot start without its runtime.
    """
    for run in tenant.runs:
        template = run_template(cluster, tenant, run, 1)
        # torchrun takes the other PET_ variables from Trainer, which refuses them in a TrainJob, but not this one.
        environment = wait_for_nodes(template)
        spec = {
            # numNodes of a TrainJob replaces the number. A TrainJob without it gets one node.
            "mlPolicy": {"numNodes": 1, "torch": {}},
            "template": {"spec": job_set(template, run, environment, {ANCESTOR: "trainer"})},
        }
        annotations = protected(cluster, 1)
        name, namespace = run.name, run.namespace.name
        yield Manifest(file, run.path, API, "TrainingRuntime", name, {"spec": spec}, namespace, annotations=annotations)


def templates(cluster: Cluster) -> Iterator[Artifact]:
    """Yields a template of a TrainJob for each training runtime.

    The template has no empty list: with an empty list below spec.trainer, Kueue would never start the TrainJob.
    """
    for tenant in cluster.tenants:
        for run in tenant.runs:
            if tenant.spec.leaving or run.namespace.spec.leaving or run.pool.spec.leaving or run.queue is None:
                continue
            template = run_template(cluster, tenant, run, min(2, run.spec.nodes))
            values = {"nodes": run.spec.nodes, "restarts": run.spec.restarts, "requests": bool(run.checkpoint_seconds)}
            usage = template.usage("train", **values)
            priority = {PRIORITY_LABEL: run.spec.priority} if run.spec.priority else {}
            image = template.container([], {})["image"]
            spec: Body = {"runtimeRef": {"apiGroup": GROUP, "kind": "TrainingRuntime", "name": run.name}}
            spec["trainer"] = {"numNodes": template.pods, "image": image, "command": ["torchrun", "train.py"]}
            yield Manifest(
                cluster.out(f"workloads/{tenant.name}/{run.name}.yaml"), run.path, API, "TrainJob", run.name,
                {"spec": spec}, run.namespace.name, template.labels | priority, {USAGE: usage},
            )  # fmt: skip


def run_template(cluster: Cluster, tenant: Tenant, run: Run, nodes: int) -> Template:
    """Returns the properties of the pods of a TrainJob. The TrainJob uses a training runtime and `nodes` nodes."""
    requests = node_requests(cluster, dict(run.pool.node), full_cores=True)
    queue = run.queue.name if run.queue else ""
    return Template(cluster, run.name, run.pool, Place.of(cluster, tenant, run.namespace), requests, queue, nodes)
