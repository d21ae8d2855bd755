"""JobSets with one changed field, and whether the API server refuses them."""

from __future__ import annotations

from tests.admission.validation.bases import DELETE, TEMPLATE, Case

_LONG = "a" * 60
_JS = "spec.replicatedJobs.0"
_TWO = {"name": "v", "template": {"spec": {"template": TEMPLATE}}}
CASES = [
    Case("JobSet", {}, None),
    Case(
        "JobSet",
        {f"{_JS}.template.spec.template.spec.containers.0.resources": {"limits": {"cpu": 0.5}}},
        f"{_JS}.template.spec.template.spec.containers.0.resources.limits.cpu",
    ),
    Case(
        "JobSet",
        {f"{_JS}.template.spec.template.spec.containers.0.resources": {"limits": {"memory": "8GB"}}},
        f"{_JS}.template.spec.template.spec.containers.0.resources.limits.memory",
    ),
    Case("JobSet", {f"{_JS}.replica": 2}),
    Case("JobSet", {f"{_JS}.name": DELETE}),
    Case("JobSet", {f"{_JS}.replicas": "2"}),
    Case("JobSet", {f"{_JS}.template.spec.template.metadata.creationTimestamp": None}),
    Case(
        "JobSet",
        {"spec.replicatedJobs.1": {"name": "w", "template": {"spec": {"template": TEMPLATE}}}},
        "spec.replicatedJobs",
    ),
    Case("JobSet", {f"{_JS}.template.spec.template.spec.containers": DELETE}),
    Case("JobSet", {"spec.failurePolicy": {"maxRestarts": "3"}}, "spec.failurePolicy.maxRestarts"),
    Case("JobSet", {"spec.successPolicy": {"operator": "Every"}}, "spec.successPolicy.operator"),
    Case("JobSet", {"metadata.annotations": {"a": 1}}, "metadata.annotations.a"),
    Case(
        "JobSet",
        {
            "spec.startupPolicy": {"startupPolicyOrder": "InOrder"},
            "spec.replicatedJobs.1": {
                "name": "v",
                "dependsOn": [{"name": "w", "status": "Ready"}],
                "template": {"spec": {"template": TEMPLATE}},
            },
        },
        "spec.startupPolicy",
    ),
    Case("JobSet", {"spec.managedBy": "example.com/a"}, None),
    Case("JobSet", {"spec.managedBy": "example.com/b"}, None),
    Case("JobSet", {"spec.network": {"enableDNSHostnames": False}}, None),
    Case("JobSet", {"spec.network": {"enableDNSHostnames": True}}, None),
    Case("JobSet", {"spec.successPolicy": {"operator": "Any"}}, None),
    Case("JobSet", {"spec.successPolicy": {"operator": "All"}}, None),
]
WEBHOOK_CASES = [
    Case("JobSet", {"metadata|annotations|kueue.x-k8s.io/elastic-job": "true"}),
    Case("JobSet", {"metadata.name": _LONG}, f"{_JS}.name"),
    Case("JobSet", {f"{_JS}.dependsOn": [{"name": "w", "status": "Ready"}]}),
    Case(
        "JobSet",
        {"spec.replicatedJobs.1": {**_TWO, "dependsOn": [{"name": "x", "status": "Ready"}]}},
        "spec.replicatedJobs.1.dependsOn.0.name",
    ),
    Case(
        "JobSet",
        {"spec.successPolicy": {"operator": "All", "targetReplicatedJobs": ["x"]}},
        "spec.successPolicy.targetReplicatedJobs.0",
    ),
    Case(
        "JobSet",
        {"spec.failurePolicy": {"rules": [{"action": "FailJobSet", "targetReplicatedJobs": ["x"]}]}},
        "spec.failurePolicy.rules.0.targetReplicatedJobs.0",
    ),
    Case(
        "JobSet",
        {"spec.failurePolicy": {"rules": [{"action": "FailJobSet", "onJobFailureReasons": ["Failed"]}]}},
        "spec.failurePolicy.rules.0.onJobFailureReasons.0",
    ),
    Case(
        "JobSet",
        {"spec.failurePolicy": {"rules": [{"action": "FailJobSet", "name": "1"}]}},
        "spec.failurePolicy.rules.0.name",
    ),
    Case("JobSet", {"spec.coordinator": {"replicatedJob": "x"}}, "spec.coordinator.replicatedJob"),
    Case("JobSet", {"spec.coordinator": {"replicatedJob": "w", "jobIndex": 2}}, "spec.coordinator.jobIndex"),
    Case("JobSet", {"spec.coordinator": {"replicatedJob": "w", "podIndex": 2}}, "spec.coordinator.podIndex"),
    Case("JobSet", {"spec.network": {"subdomain": "1a"}}, "spec.network.subdomain"),
]
"""Objects that only webhooks refuse, which a bare API server accepts."""
