"""Defaults of new objects. tests/conformance/refused_workloads.py compares them with a real API server."""

from __future__ import annotations

from copy import deepcopy

import pytest

from gpuc.admission.validation import with_defaults
from gpuc.admission.validation.pods import pull_policy
from gpuc.objects.object_set import dig
from tests.admission.validation.bases import BASES


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("Pod", ("spec", "restartPolicy"), "Always"),
        ("Pod", ("spec", "securityContext"), {}),
        ("Pod", ("spec", "containers", 0, "imagePullPolicy"), "IfNotPresent"),
        ("Job", ("spec", "completions"), 1),
        ("Job", ("spec", "backoffLimit"), 6),
        ("Job", ("spec", "suspend"), False),
        ("Job", ("spec", "template", "metadata", "labels", "batch.kubernetes.io/job-name"), "a"),
        ("Job", ("metadata", "labels", "app"), "a"),
        ("CronJob", ("spec", "jobTemplate", "spec", "parallelism"), None),
        ("Deployment", ("spec", "strategy", "rollingUpdate", "maxSurge"), "25%"),
        ("StatefulSet", ("spec", "updateStrategy", "rollingUpdate", "partition"), 0),
        ("JobSet", ("spec", "replicatedJobs", 0, "template", "spec", "completionMode"), "Indexed"),
        ("JobSet", ("spec", "replicatedJobs", 0, "template", "spec", "template", "spec", "restartPolicy"), "OnFailure"),
        ("JobSet", ("spec", "replicatedJobs", 0, "groupName"), "default"),
        ("JobSet", ("spec", "network", "enableDNSHostnames"), True),
        ("LeaderWorkerSet", ("spec", "rolloutStrategy", "type"), "RollingUpdate"),
        ("LeaderWorkerSet", ("spec", "startupPolicy"), "LeaderCreated"),
        ("batch.volcano.sh/Job", ("spec", "queue"), "default"),
        ("batch.volcano.sh/Job", ("spec", "schedulerName"), "volcano"),
        ("batch.volcano.sh/Job", ("spec", "minAvailable"), 2),
        ("batch.volcano.sh/Job", ("spec", "tasks", 0, "minAvailable"), 2),
        ("batch.volcano.sh/Job", ("spec", "tasks", 0, "template", "spec", "schedulerName"), None),
    ],
)
def test_sets_defaults_and_does_not_change_the_input(kind: str, path: tuple[str | int, ...], value: object) -> None:
    before = deepcopy(BASES[kind])
    assert dig(with_defaults(BASES[kind]), *path) == value
    assert BASES[kind] == before


@pytest.mark.parametrize("kind", BASES)
def test_defaults_of_defaults_are_the_same(kind: str) -> None:
    once = with_defaults(BASES[kind])
    assert with_defaults(once) == once


def test_requests_of_a_pod_come_from_limits_but_not_in_a_template() -> None:
    pod, job = deepcopy(BASES["Pod"]), deepcopy(BASES["Job"])
    pod["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": 8}}
    job["spec"]["template"]["spec"] = {**pod["spec"], "restartPolicy": "Never"}
    assert dig(with_defaults(pod), "spec", "containers", 0, "resources", "requests") == {"nvidia.com/gpu": 8}
    assert dig(with_defaults(job), "spec", "template", "spec", "containers", 0, "resources", "requests") is None


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("a", "Always"),
        ("registry:5000/a/b", "Always"),
        ("nvcr.io/nvidia/pytorch:latest", "Always"),
        ("nvcr.io/nvidia/pytorch:26.01-py3", "IfNotPresent"),
        (f"a@sha256:{'0' * 64}", "IfNotPresent"),
        (f"a:latest@sha256:{'0' * 64}", "Always"),
        ("A B", "IfNotPresent"),
    ],
)
def test_pull_policy_follows_the_tag(image: str, policy: str) -> None:
    assert pull_policy(image) == policy
