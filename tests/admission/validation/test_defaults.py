"""Defaults of new objects. tests/conformance/refused_workloads.py compares them with a real API server."""

from copy import deepcopy

import pytest

from gpuc.admission.validation import with_defaults
from gpuc.admission.validation.pods import pull_policy
from gpuc.objects.object_set import dig
from tests.admission.validation.bases import BASES
from tests.tables import table


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    table(__file__, "defaults.yaml")["defaults"],
)
def test_sets_defaults_and_does_not_change_the_input(kind: str, path: list[str | int], value: object) -> None:
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
