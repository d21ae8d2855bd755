"""Services and the pods of Jobs: the labels that controllers add, and the names that pods have in DNS."""

from __future__ import annotations

import pytest

from gpuc.diagnostics.finding import Path
from tests.conftest import EXAMPLES
from tests.lint.checks.references.trees import example_objects, ids, judged, replaced, told, with_value

GANG = """
apiVersion: v1
kind: Service
metadata: {name: train, namespace: default}
spec: {clusterIP: None, selector: {job-name: SELECTED}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: pretrain-large, namespace: default}
spec: {template: {spec: {subdomain: SUBDOMAIN, containers: [{name: work}]}}}
"""


def gang(selected: str = "pretrain-large", subdomain: str = "train") -> str:
    """A Job and the Service of its pods."""
    return GANG.replace("SELECTED", selected).replace("SUBDOMAIN", subdomain)


def test_a_service_finds_the_pods_of_a_job_by_the_labels_that_kubernetes_adds() -> None:
    for whole in (True, False):
        assert ids(gang(), whole=whole) == []
        assert ids(gang().replace("job-name", "batch.kubernetes.io/job-name"), whole=whole) == []
        assert told(gang("pretrain-lagre"), whole=whole) == [
            ("REF032", "Service default/train", "write pretrain-large")
        ]
    assert told(gang("evaluate"), whole=True) == [("REF032", "Service default/train", "")]
    assert ids(gang("evaluate")) == [], "somebody may start that Job by hand"


def test_labels_of_jobs_that_controllers_name_are_not_judged() -> None:
    more = """
    apiVersion: GROUP
    kind: KIND
    metadata: {name: nightly, namespace: default}
    """
    for api, kind in (("batch/v1", "CronJob"), ("jobset.x-k8s.io/v1alpha2", "JobSet"), ("ray.io/v1", "RayJob")):
        made = more.replace("GROUP", api).replace("KIND", kind)
        assert "REF032" not in ids(gang("nightly-workers-0"), made, whole=True), kind
    assert ids(gang().replace("job-name: SELECTED", "batch.kubernetes.io/job-completion-index: '0'"), whole=True) == []


def test_a_service_finds_the_pods_of_a_job_set() -> None:
    text = """
    apiVersion: v1
    kind: Service
    metadata: {name: leader, namespace: default}
    spec: {selector: {jobset.sigs.k8s.io/jobset-name: train, jobset.sigs.k8s.io/replicatedjob-name: leader}}
    ---
    apiVersion: jobset.x-k8s.io/v1alpha2
    kind: JobSet
    metadata: {name: train, namespace: default}
    spec:
      replicatedJobs:
        - {name: leader, template: {spec: {template: {spec: {containers: []}}}}}
        - {name: workers, template: {spec: {template: {spec: {containers: []}}}}}
    """
    assert ids(text, whole=True) == []
    assert ids(text.replace("jobset-name: train", "jobset-name: other"), whole=True) == ["REF032"]
    assert ids(text.replace("replicatedjob-name: leader", "replicatedjob-name: driver"), whole=True) == ["REF032"]


def test_pods_with_a_subdomain_need_its_service() -> None:
    for whole in (True, False):
        assert told(gang(subdomain="trian"), whole=whole) == [("REF033", "Job default/pretrain-large", "write train")]
    alone = gang(subdomain="other").split("---")[1]
    assert ids(alone, whole=True) == ["REF033"]
    assert ids(alone) == [], "a tree without any Service may have them elsewhere"
    assert ids(gang(subdomain="ranks")) == ["REF090"]
    assert ids(alone.replace("batch/v1", "kubeflow.org/v1").replace("Job", "PyTorchJob"), whole=True) == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_service_of_the_templates_is_needed_as_it_is(name: str) -> None:
    objects = example_objects(name)
    services = [each for each in objects if each.kind == "Service"]
    assert services or name == "infer-euw1"
    for service in services:
        gone = judged([each for each in objects if each is not service], whole=True, charts_of=name)
        assert [(each.rule.id, each.manifest.name) for each in gone] == [("REF033", service.name)]
        path: Path = ("spec", "selector", "job-name")
        other = judged(replaced(objects, service, with_value(service, path, "nobody")), whole=True, charts_of=name)
        assert [(each.rule.id, each.manifest.name, each.path) for each in other] == [("REF032", service.name, path)]
