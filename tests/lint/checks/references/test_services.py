"""Services and the pods of Jobs: labels that controllers add, and DNS names of pods."""

from __future__ import annotations

import pytest

from gpuc.diagnostics.finding import Path
from tests.conftest import EXAMPLES
from tests.lint.checks.references.trees import example_objects, findings_of, ids, replaced, reported, with_value

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
    for is_complete in (True, False):
        assert ids(gang(), is_complete=is_complete) == []
        assert ids(gang().replace("job-name", "batch.kubernetes.io/job-name"), is_complete=is_complete) == []
        assert reported(gang("pretrain-lagre"), is_complete=is_complete) == [
            ("REF032", "Service default/train", "write pretrain-large")
        ]
    assert reported(gang("evaluate"), is_complete=True) == [("REF032", "Service default/train", "")]
    assert ids(gang("evaluate")) == [], "users may create that Job"


def test_labels_of_jobs_that_controllers_name_are_not_checked() -> None:
    more = """
    apiVersion: GROUP
    kind: KIND
    metadata: {name: nightly, namespace: default}
    """
    for api, kind in (("batch/v1", "CronJob"), ("jobset.x-k8s.io/v1alpha2", "JobSet"), ("ray.io/v1", "RayJob")):
        made = more.replace("GROUP", api).replace("KIND", kind)
        assert "REF032" not in ids(gang("nightly-workers-0"), made, is_complete=True), kind
    assert (
        ids(gang().replace("job-name: SELECTED", "batch.kubernetes.io/job-completion-index: '0'"), is_complete=True)
        == []
    )


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
    assert ids(text, is_complete=True) == []
    assert ids(text.replace("jobset-name: train", "jobset-name: other"), is_complete=True) == ["REF032"]
    assert ids(text.replace("replicatedjob-name: leader", "replicatedjob-name: driver"), is_complete=True) == ["REF032"]


def test_pods_with_a_subdomain_need_its_service() -> None:
    for is_complete in (True, False):
        assert reported(gang(subdomain="trian"), is_complete=is_complete) == [
            ("REF033", "Job default/pretrain-large", "write train")
        ]
    alone = gang(subdomain="other").split("---")[1]
    assert ids(alone, is_complete=True) == ["REF033"]
    assert ids(alone) == [], "Services may be in other files"
    assert ids(gang(subdomain="ranks")) == ["REF090"]
    assert ids(alone.replace("batch/v1", "kubeflow.org/v1").replace("Job", "PyTorchJob"), is_complete=True) == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_service_of_the_templates_is_needed(name: str) -> None:
    objects = example_objects(name)
    services = [manifest for manifest in objects if manifest.kind == "Service" and "job-name" in str(manifest.body)]
    assert services or name == "infer-euw1"
    for service in services:
        gone = findings_of(
            [manifest for manifest in objects if manifest is not service], is_complete=True, charts_of=name
        )
        assert [(finding.rule.id, finding.manifest.name) for finding in gone] == [("REF033", service.name)]
        path: Path = ("spec", "selector", "job-name")
        other = findings_of(
            replaced(objects, service, with_value(service, path, "missing")), is_complete=True, charts_of=name
        )
        assert [(finding.rule.id, finding.manifest.name, finding.path) for finding in other] == [
            ("REF032", service.name, path)
        ]


RATINGS = """
apiVersion: v1
kind: Service
metadata: {name: ratings}
spec: {selector: {app: ratings}, ports: [{port: 80, targetPort: web}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: ratings, namespace: default}
spec: {template: {metadata: {labels: {app: ratings}}, spec: {containers: [{name: a, ports: [{name: PORT}]}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: unicorn}
spec: {template: {metadata: {labels: {app: unicorn}}, spec: {containers: [{name: a}]}}}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: ratings, namespace: default}
spec: {selector: {matchLabels: {team: a}}}
---
apiVersion: v1
kind: Service
metadata: {name: scraped, labels: {team: a}}
"""


def test_lint15_an_object_without_a_namespace_is_in_namespace_default() -> None:
    """kubectl creates the Service and the pods in the same namespace."""
    named = RATINGS.replace("PORT", "web")
    assert ids(named) == ids(named.replace(", namespace: default", "")) == []
    assert (
        ids(
            named.replace(
                "name: ratings}\nspec: {selector: {app", "name: ratings, namespace: default}\nspec: {selector: {app"
            )
        )
        == []
    )
    elsewhere = named.replace("namespace: default}\nspec: {template", "namespace: prod}\nspec: {template")
    assert reported(elsewhere) == [("REF032", "Service ratings", "")]
    assert reported(RATINGS.replace("PORT", "wbe"))[0][:2] == ("OBJ022", "Service ratings")


@pytest.mark.parametrize(
    ("namespaces", "expected"),
    [
        ("{}", ["OBJ022"]),
        ("{any: false}", ["OBJ022"]),
        ("{matchNames: [default]}", ["OBJ022"]),
        ("{any: true}", []),
        ("{matchNames: [default, shop]}", []),
    ],
)
def test_a_monitor_names_a_port_of_a_service_in_its_own_namespace(namespaces: str, expected: list[str]) -> None:
    text = f"""
    apiVersion: v1
    kind: Service
    metadata: {{name: web, labels: {{app: web}}}}
    spec: {{ports: [{{name: http, port: 80}}]}}
    ---
    apiVersion: monitoring.coreos.com/v1
    kind: ServiceMonitor
    metadata: {{name: web, namespace: default}}
    spec: {{selector: {{matchLabels: {{app: web}}}}, endpoints: [{{port: PORT}}], namespaceSelector: {namespaces}}}
    """
    assert ids(text.replace("PORT", "http")) == []
    assert ids(text.replace("PORT", "htpp")) == expected
