"""Adds the fields that the API server requires to the TrainJobs in the examples of policies."""

from collections.abc import Callable

from gpuc_rehearsal.client import Object

COMPLETE: dict[str, Callable[[Object], None]] = {
    "TrainJob": lambda spec: spec.update(runtimeRef={"name": "none"}, suspend=True)
}
OWNERS: dict[str, Callable[[Object], None]] = {}
