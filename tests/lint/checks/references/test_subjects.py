"""Cohorts, keys, selectors, resources, namespaces and unused objects, in partial input."""

from __future__ import annotations

import pytest

from gpuc.diagnostics.spelling import misspelt
from gpuc.lint.checks.references.resources import intended_resource
from tests.lint.checks.references.trees import ids, reported


def queue(name: str, cohort: str) -> str:
    """A ClusterQueue in a cohort."""
    return f"""
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: {name}}}
spec: {{cohortName: {cohort}, namespaceSelector: {{}}}}
"""


def test_only_a_misspelt_cohort_is_reported() -> None:
    assert ids(queue("a", "company"), queue("b", "company"), queue("c", "alone")) == []
    lonely = reported(queue("a", "company"), queue("b", "company"), queue("c", "comapny"))
    assert lonely == [("REF011", "ClusterQueue c", "write company")]
    assert ids(queue("a", "company"), queue("c", "comapny")) == [], "it is unknown which of the two names is right"
    assert ids(queue("a", "team-a"), queue("b", "team-a"), queue("c", "team-b")) == []


POD = """
apiVersion: v1
kind: Pod
metadata: {name: work, namespace: default}
spec:
  containers:
    - name: work
      env:
        - {name: A, valueFrom: {configMapKeyRef: {name: settings, key: KEY}}}
  volumes:
    - {name: all, configMap: {name: settings, items: [{key: KEY, path: a}]}}
"""
SETTINGS = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: default}
data: {NCCL_DEBUG: WARN, log.level: info}
"""


def test_pods_read_keys_that_exist() -> None:
    assert ids(SETTINGS, POD.replace("KEY", "NCCL_DEBUG")) == []
    assert (
        reported(SETTINGS, POD.replace("KEY", "NCCL-DEBUG")) == [("REF007", "Pod default/work", "write NCCL_DEBUG")] * 2
    )
    assert ids(SETTINGS, POD.replace("KEY", "other")) == ["REF007"] * 2
    filled_in_later = SETTINGS.replace("data: {NCCL_DEBUG: WARN, log.level: info}", "")
    assert ids(filled_in_later, POD.replace("KEY", "other")) == []


TENANTS = """
apiVersion: v1
kind: Namespace
metadata: {name: research, labels: {example.com/tenant: research}}
---
apiVersion: v1
kind: Namespace
metadata: {name: serving, labels: {example.com/tenant: serving}}
"""


def policy(selector: str) -> str:
    """A NetworkPolicy that allows traffic from namespaces."""
    return f"""
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {{name: allow, namespace: research}}
spec: {{podSelector: {{}}, ingress: [{{from: [{{namespaceSelector: {selector}}}]}}]}}
"""


@pytest.mark.parametrize(
    ("selector", "wanted"),
    [
        ("{}", []),
        ("{matchLabels: {example.com/tenant: serving}}", []),
        ("{matchLabels: {kubernetes.io/metadata.name: kube-system}}", []),
        ("{matchLabels: {kubernetes.io/metadata.name: another-team}}", []),
        ("{matchExpressions: [{key: example.com/tenant, operator: NotIn, values: [other]}]}", []),
        ("{matchLabels: {another.com/label: x}}", []),
        ("{matchLabels: {example.com/tenant: servign}}", [("REF030", "write serving")]),
        ("{matchLabels: {kubernetes.io/metadata.name: reserach}}", [("REF030", "write research")]),
        ("{matchLabels: {example.com/tennant: serving}}", [("REF030", "write example.com/tenant")]),
        ("{matchLabels: {example.com/tenant: other}}", [("REF090", "")]),
        ("{matchExpressions: [{key: example.com/tenant, operator: In, values: [other]}]}", [("REF090", "")]),
    ],
)
def test_selectors_over_namespaces(selector: str, wanted: list[tuple[str, str]]) -> None:
    assert [(row[0], row[2]) for row in reported(TENANTS, policy(selector))] == wanted


def test_a_cluster_queue_selects_the_namespaces_of_its_local_queues() -> None:
    queues = """
    apiVersion: kueue.x-k8s.io/v1beta2
    kind: ClusterQueue
    metadata: {name: shared}
    spec: SPEC
    ---
    apiVersion: kueue.x-k8s.io/v1beta2
    kind: LocalQueue
    metadata: {name: shared, namespace: research}
    spec: {clusterQueue: shared}
    """
    selector = "{namespaceSelector: {matchLabels: {example.com/tenant: TENANT}}}"
    assert ids(TENANTS, queues.replace("SPEC", "{namespaceSelector: {}}")) == []
    assert ids(TENANTS, queues.replace("SPEC", selector.replace("TENANT", "research"))) == []
    assert ids(TENANTS, queues.replace("SPEC", selector.replace("TENANT", "serving"))) == ["REF031"]
    assert ids(TENANTS, queues.replace("SPEC", "{}")) == ["REF031"], "without a selector the queue admits no work"


def test_selectors_over_pods_and_services_of_a_namespace() -> None:
    workload = """
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: server, namespace: default}
    spec: {template: {metadata: {labels: {app: server}}, spec: {}}}
    ---
    apiVersion: v1
    kind: Service
    metadata: {name: server, namespace: default, labels: {app: server}}
    spec: {selector: {app: SERVICE}}
    ---
    apiVersion: policy/v1
    kind: PodDisruptionBudget
    metadata: {name: server, namespace: default}
    spec: {maxUnavailable: 1, selector: {matchLabels: {app: BUDGET}}}
    ---
    apiVersion: monitoring.coreos.com/v1
    kind: ServiceMonitor
    metadata: {name: server, namespace: default}
    spec: {selector: {matchLabels: {app: MONITOR}}}
    """

    def of(**words: str) -> list[tuple[str, str, str]]:
        text = workload
        for word in ("SERVICE", "BUDGET", "MONITOR"):
            text = text.replace(word, words.get(word, "server"))
        return reported(text)

    assert of() == []
    assert of(SERVICE="sever") == [("REF032", "Service default/server", "write server")]
    assert of(BUDGET="other") == [("REF032", "PodDisruptionBudget default/server", "")]
    assert of(MONITOR="servers") == [("REF032", "ServiceMonitor default/server", "write server")]
    assert reported(workload.replace("app: SERVICE", "other-label: SERVICE").replace("BUDGET", "server")) == [
        ("REF032", "ServiceMonitor default/server", "")
    ], "pods with other labels are in other files"


@pytest.mark.parametrize(
    ("key", "wanted"),
    [
        ("requests.nvidia.com/gpu", []),
        ("requests.hugepages-2Mi", []),
        ("hugepages-1Gi", []),
        ("count/jobs.batch", []),
        ("gold.storageclass.storage.k8s.io/requests.storage", []),
        ("limits.cpu", []),
        ("limits.nvidia.com/gpu", [("REF051", "write requests.nvidia.com/gpu")]),
        ("nvidia.com/mig-1g.10gb", [("REF051", "write requests.nvidia.com/mig-1g.10gb")]),
        ("limits.hugepages-2Mi", [("REF051", "write requests.hugepages-2Mi")]),
        ("requests.gpu", [("REF051", "")]),
        ("requests.nvidia.com/gpus", [("REF052", "write requests.nvidia.com/gpu")]),
        ("requests.nvidia.com/mig-1g10gb", [("REF052", "write requests.nvidia.com/mig-1g.10gb")]),
    ],
)
def test_keys_of_quotas(key: str, wanted: list[tuple[str, str]]) -> None:
    quota = f"""
    apiVersion: v1
    kind: ResourceQuota
    metadata: {{name: quota, namespace: default}}
    spec: {{hard: {{{key}: "8"}}}}
    """
    assert [(row[0], row[2]) for row in reported(quota)] == wanted


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("nvidia.com/gpu", ""),
        ("nvidia.com/gpus", "nvidia.com/gpu"),
        ("nvidia.com/gpu-shared", "nvidia.com/gpu.shared"),
        ("nvidia.com/mig-3g.40gb", ""),
        ("nvidia.com/mig-1c.3g.40gb", ""),
        ("nvidia.com/mig-3g40gb", "nvidia.com/mig-3g.40gb"),
        ("nvidia.com/mig-3g-40gb.shared", "nvidia.com/mig-3g.40gb.shared"),
        ("vpc.amazonaws.com/efas", "vpc.amazonaws.com/efa"),
        ("example.com/gpu", ""),
        ("nvidia.com/a100", ""),
        ("cpu", ""),
    ],
)
def test_names_of_devices(name: str, suggestion: str) -> None:
    assert intended_resource(name, ()) == suggestion


@pytest.mark.parametrize(
    ("name", "known", "suggestion"),
    [
        ("reserach", ["research", "search"], "research"),
        ("Research", ["research"], "research"),
        ("train_h100", ["train-h100"], "train-h100"),
        ("train-h200", ["train-h100"], ""),
        ("team-b", ["team-a"], ""),
        ("gpu-pool", ["cpu-pool"], ""),
        ("us-east", ["eu-east"], ""),
        ("kueue-system", ["kube-system"], ""),
        ("research", ["search", "researcher"], ""),
        ("trainer", ["trainers", "trained"], ""),
        ("", ["a"], ""),
    ],
)
def test_a_name_counts_as_misspelt_only_if_that_is_certain(name: str, known: list[str], suggestion: str) -> None:
    assert misspelt(name, known) == suggestion


def test_namespaces_of_objects_have_to_exist() -> None:
    def account(namespace: str) -> str:
        return f"apiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: a, namespace: {namespace}}}\n"

    application = """
    apiVersion: argoproj.io/v1alpha1
    kind: Application
    metadata: {name: kueue, namespace: kube-system}
    spec: {destination: {namespace: kueue-system}}
    """
    assert ids(account("anything")) == [], "the input has no namespace"
    assert ids(TENANTS, account("research"), account("default"), account("kube-system")) == []
    assert reported(TENANTS, account("reserach")) == [("REF040", "ServiceAccount reserach/a", "write research")]
    assert ids(TENANTS, account("other")) == ["REF090"]
    assert ids(TENANTS, account("other"), is_complete=True) == ["REF040"]
    assert ids(TENANTS, application, account("kueue-system"), is_complete=True) == []


def test_config_maps_are_read_by_pods_or_by_what_users_submit() -> None:
    other = SETTINGS.replace("settings", "leftover")
    assert reported(SETTINGS, other, POD.replace("KEY", "NCCL_DEBUG")) == [("REF061", "ConfigMap default/leftover", "")]
    local = """
    apiVersion: kueue.x-k8s.io/v1beta2
    kind: LocalQueue
    metadata: {name: work, namespace: default}
    spec: {clusterQueue: work}
    """
    assert ids(SETTINGS, other, POD.replace("KEY", "NCCL_DEBUG"), local) == []


def test_a_service_in_kube_system_may_select_pods_of_other_programs() -> None:
    text = """
    apiVersion: apps/v1
    kind: DaemonSet
    metadata: {name: cache, namespace: kube-system}
    spec: {template: {metadata: {labels: {k8s-app: node-local-dns}}, spec: {}}}
    ---
    apiVersion: v1
    kind: Service
    metadata: {name: upstream, namespace: kube-system}
    spec: {selector: {k8s-app: kube-dns}}
    """
    assert ids(text) == []


def test_placeholders_in_namespaces_are_not_checked() -> None:
    account = 'apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a, namespace: "$(NAMESPACE)"}\n'
    assert ids(TENANTS, account) == ids(TENANTS, account.replace("$(NAMESPACE)", "{NAMESPACE}")) == []
