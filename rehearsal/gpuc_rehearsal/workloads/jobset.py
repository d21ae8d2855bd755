"""Adds the fields that the API server requires to the JobSets in the examples of policies."""

from gpuc_rehearsal.client import Object
from gpuc_rehearsal.examples import complete_job


def _complete_job_set(spec: Object) -> None:
    spec.setdefault("suspend", True)
    for job in spec.setdefault("replicatedJobs", [{"name": "workers"}]):
        complete_job(job.setdefault("template", {}).setdefault("spec", {}))


COMPLETE = {"JobSet": _complete_job_set}
OWNERS = COMPLETE
