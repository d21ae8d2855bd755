"""The decision of the API server about the fields of a new object."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gpuc.admission.documents import api_group
from gpuc.admission.request import Decision
from gpuc.admission.validation.apps import daemon_set, deployment, replica_set, stateful_set
from gpuc.admission.validation.cron_job import cron_job
from gpuc.admission.validation.defaults import with_defaults
from gpuc.admission.validation.job import job
from gpuc.admission.validation.job_set import job_set
from gpuc.admission.validation.kueue import kueue
from gpuc.admission.validation.metadata import object_metadata, structure_of_metadata
from gpuc.admission.validation.operator_jobs import leader_worker_set, ray_cluster, ray_job, train_job, training_job
from gpuc.admission.validation.pod import pod
from gpuc.admission.validation.problem import Problem, Problems, not_checked
from gpuc.admission.validation.structure import KUBERNETES, structure, table_of
from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Body

Check = Callable[[Any], Problems]
_CHECKS: dict[tuple[str, str], tuple[Check, ...]] = {
    ("", "Pod"): (pod, kueue),
    ("batch", "Job"): (job, kueue),
    ("batch", "CronJob"): (cron_job,),
    ("apps", "Deployment"): (deployment, kueue),
    ("apps", "StatefulSet"): (stateful_set, kueue),
    ("apps", "ReplicaSet"): (replica_set,),
    ("apps", "DaemonSet"): (daemon_set,),
    ("jobset.x-k8s.io", "JobSet"): (job_set, kueue),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): (leader_worker_set, kueue),
    ("ray.io", "RayJob"): (ray_job, kueue),
    ("ray.io", "RayCluster"): (ray_cluster, kueue),
    ("kubeflow.org", "MPIJob"): (kueue,),
    **{
        ("kubeflow.org", kind): (training_job, kueue)
        for kind in ("JAXJob", "PaddleJob", "PyTorchJob", "TFJob", "XGBoostJob")
    },
    ("trainer.kubeflow.org", "TrainJob"): (train_job, kueue),
}
"""The checks by API group and kind."""


def validation_errors(document: Body, *, strict: bool = True, kubernetes: str = KUBERNETES) -> Iterator[Decision]:
    """Yields a decision for every field for which the API server or a webhook refuses a new object.

    A decision is "unknown" for a kind without a schema, and for a field that gpuc does not check.

    Args:
        document: the complete object as a user or controller sends it, without the API server's defaults.
        strict: whether unknown fields are errors, as for objects that kubectl sends; controllers' requests are not
            strict.
        kubernetes: the minor version whose fields the object may have. The other checks are those of 1.35.
    """
    checks = _CHECKS.get((api_group(document), str(document.get("kind"))))
    if checks is None or table_of(document, kubernetes) is None:
        message = f"gpuc has no table of the fields of {document.get('apiVersion')} {document.get('kind')}"
        yield Decision("unknown", "API server", message, field=("kind",))
        return
    reported: set[Path] = set()
    for problem in _problems(document, checks, strict=strict, kubernetes=kubernetes):
        if problem.path not in reported:
            reported.add(problem.path)
            yield _decision(problem)


def _problems(document: Body, checks: tuple[Check, ...], *, strict: bool, kubernetes: str) -> Iterator[Problem]:
    yield from structure_of_metadata(document, strict=strict)
    yield from structure(document, strict=strict, kubernetes=kubernetes)
    if document.get("status") not in (None, {}):
        yield not_checked(("status",), "the API server drops it, but refuses unknown fields and wrong types")
    complete = with_defaults(document)
    yield from object_metadata(complete)
    for check in checks:
        yield from check(complete)


def _decision(problem: Problem) -> Decision:
    outcome = "unknown" if problem.is_unchecked else "denied"
    return Decision(outcome, problem.check, problem.message, field=problem.path, fix=problem.fix)  # type: ignore[arg-type]
