"""Other valid values for the leaves of the example specs."""

from __future__ import annotations

import re
from typing import Any

from gpuc.diagnostics.finding import Path

OTHER: dict[str, Any] = {
    # By value: what else a person would write there. A duration, an amount and a free text need no entry.
    "gpuc.dev/v1alpha1": "gpuc.dev/v1", "Cluster": "Layer", "prod": "staging", "1.35": "1.34", "us-east-1": "us-west-2",
    "us-east-1a": "us-east-1c", "us-east-1b": "us-east-1d", "al2023@v20260815": "al2023@v20260701",
    "vpc-cni": "cilium", "10.0.0.0/17": "10.16.0.0/12", "10.0.240.0/24": "10.0.241.0/24",
    "10.0.250.0/28": "10.0.251.0/28", "172.20.0.0/16": "172.21.0.0/16", "3.5.0.0/19": "3.5.128.0/19",
    "16.15.176.0/20": "16.15.192.0/20", "52.216.0.0/15": "52.218.0.0/17", "54.231.0.0/16": "54.230.0.0/16",
    "search-serving": "search-train", "general": "inference", "inference": "interactive",
    "interactive": "inference", "m7i.8xlarge": "m7i.4xlarge", "m7i.16xlarge": "m7i.12xlarge",
    "p5.48xlarge": "p5e.48xlarge", "p4d.24xlarge": "p4de.24xlarge", "p4de.24xlarge": "p5.48xlarge",
    "g6.12xlarge": "g6.24xlarge", "g6e.12xlarge": "g6e.24xlarge", "spot": "on-demand", "on-demand": "spot",
    "reserved": "spot", "cr-0a1b2c3d4e5f6a7b8": "cr-0a1b2c3d4e5f6a7b9", "exclusive": {"timeSlicing": {"replicas": 2}},
    "72h": "96h", "30m": "45m", "12h": "24h", "10m": "20m", "WARN": "VERSION", "edit": "view", "admin": "edit",
    "network": "namespace", "dedicated": "network", "privileged": "baseline", "baseline": "restricted",
    "restricted": "baseline", "10.20.0.0/16": "10.21.0.0/16", "10.30.0.0/24": "10.31.0.0/24", "TCP": "UDP",
    "ingress-nginx": "ingress-envoy", "all": 1, "lower-priority": "never", "any": "never", "research": "search",
    "search": "research", "platform-ml": "search", "company": "firm", "deny": "dryrun", "warn": "dryrun",
    "registry.example.com/": "registry.example.org/", "nvcr.io/": "quay.io/", "monitoring": "observability",
    "2026.08": "2026.07", "https://git.example.com/platform/gpu-fleet.git": "https://git.example.com/other/fleet.git",
    "main": "release", "out": "rendered", "https://kubernetes.default.svc": "https://10.0.250.5:443",
    "argocd": "argo", "confirm": "never", "batch/job": "kubeflow.org/mpijob",
    "gpu": "all", "500m": "1500m",
    "jobset.x-k8s.io/jobset": "kubeflow.org/mpijob", "trainer.kubeflow.org/trainjob": "kubeflow.org/mpijob",
    "America/New_York": "Europe/Dublin", "08:00-18:00": "07:00-17:30", "mon": "sun", "tue": "sun", "wed": "sun",
    "thu": "sun", "fri": "sun", "eu-central-1": "us-west-2", "eu-central-1a": "eu-central-1c",
    "eu-central-1b": "eu-central-1d", "cilium": "none", "10.128.0.0/14": "10.192.0.0/14",
    "10.40.240.0/24": "10.40.241.0/24", "10.40.32.0/24": "10.40.34.0/24", "10.40.33.0/24": "10.40.35.0/24",
    "10.192.8.0/24": "10.193.8.0/24", "10.40.7.20/32": "10.40.7.21/32",
    "cr-0b1c2d3e4f5a6b7c8": "cr-0b1c2d3e4f5a6b7c9", "view": "edit", "nlp-lab": "nlp-train",
    "m8g.4xlarge": "c8g.4xlarge", "m8g.8xlarge": "m8g.12xlarge", "256Mi": "2Gi",  # quotas are rounded to Gi
    "2027-03-31T11:30:00Z": "2027-04-30T11:30:00Z", "Europe/Berlin": "America/New_York", "08:00-19:00": "07:00-17:30",
    "training": "interactive", "NoSchedule": "NoExecute", "10.50.0.0/24": "10.52.0.0/24",
    "10.51.0.0/24": "10.53.0.0/24", "10.0.224.0/24": "10.0.226.0/24", "10.0.225.0/24": "10.0.227.0/24",
    "10.192.16.0/24": "10.192.18.0/24", "10.192.17.0/24": "10.192.19.0/24", "*.hf.co": "*.hf.space",
    "huggingface.co": "pypi.org",
}  # fmt: skip

ABSENT = ("fabric", "nccl", "whole", "internet", "gateway")
"""Keys with only one possible value: the test removes them."""


def other(path: Path, value: Any) -> Any:
    """Returns another valid value for a path of the spec."""
    keys = [step for step in path if isinstance(step, str)]
    if path == ("metadata", "name"):
        return f"{value}-2"
    if isinstance(value, bool):
        return not value
    if keys[-1] == "instances" and "reservations" in keys:
        return 16  # as many as the pool has nodes, which a rule reports
    if isinstance(value, int):
        return value - 1 if value > 1 else value + 1
    if keys[-1] == "NCCL_CROSS_NIC":
        return "0"
    if value in OTHER:
        return OTHER[value]
    amount = re.fullmatch(r"(\d+)(s|m|h|Mi|Gi)", value)
    return f"{int(amount[1]) * 2}{amount[2]}" if amount else f"{value}-2"


_PROD = "prod-use1"
_POOL = ("spec", "pools", "train-h100")
_TENANT = ("spec", "tenants", "search")
UNSET: dict[str, tuple[str, Path, Any]] = {
    "cloud.aws.addOnRegistry": (_PROD, ("spec", "cloud", "aws", "addOnRegistry"), "registry.example.com/eks"),
    "pools.*.eks.image.alias": (_PROD, (*_POOL, "eks", "image"), "al2023@v20260701"),
    "pools.*.hold": (_PROD, (*_POOL, "hold"), True),
    "pools.*.leaving": (_PROD, (*_POOL, "leaving"), True),
    "tenants.*.leaving": (_PROD, (*_TENANT, "leaving"), True),
    "tenants.*.namespaces.*.leaving": (_PROD, (*_TENANT, "namespaces", "search-train", "leaving"), True),
    "tenants.*.network.metrics[].port": (_PROD, (*_TENANT, "network", "metrics"), [{"port": 9090}]),
    "components.*.managed": (_PROD, ("spec", "components", "karpenter", "managed"), False),
    "components.*.namespace": (_PROD, ("spec", "components", "gpu-operator", "namespace"), "nvidia"),
    "queues.*.leaving": (_PROD, ("spec", "queues", "search", "leaving"), True),
    "cloud.aws.subnets.ids": (_PROD, ("spec", "cloud", "aws", "subnets"), {"ids": ["subnet-0a1b2c3d4e5f6a7b8"]}),
    "cloud.aws.securityGroups.ids": (
        _PROD,
        ("spec", "cloud", "aws", "securityGroups"),
        {"ids": ["sg-0a1b2c3d4e5f6a7b8"], "efaSelfRule": True},
    ),
    "charts.*.wave": ("custom-euc1", ("spec", "charts", "cert-manager", "wave"), 36),
    "charts.*.namespaces": ("custom-euc1", ("spec", "charts", "cert-manager", "namespaces"), ["issuers"]),
    "pools.*.eks.image.family": (_PROD, (*_POOL, "eks", "image"), {"family": "AL2023", "id": "ami-0c3f1a2b4d5e6f708"}),
    "pools.*.eks.image.id": (_PROD, (*_POOL, "eks", "image"), {"family": "AL2023", "id": "ami-0c3f1a2b4d5e6f708"}),
    "tenants.*.namespaces.*.queues": (
        _PROD,
        ("spec", "tenants", "research", "namespaces", "research-lab", "queues"),
        [],
    ),
    "tenants.*.network.internet.ports[].port": (
        _PROD,
        (*_TENANT, "network", "internet", "ports"),
        [{"port": 8443}],
    ),
    "tenants.*.network.internet.ports[].protocol": (
        _PROD,
        (*_TENANT, "network", "internet", "ports"),
        [{"port": 443, "protocol": "UDP"}],
    ),
    "tenants.*.network.metrics[].protocol": (
        _PROD,
        (*_TENANT, "network", "metrics"),
        [{"port": 9090, "protocol": "UDP"}],
    ),
    "releases.components": (_PROD, ("spec", "releases"), {"set": "2026.08", "components": {"gatekeeper": "3.21.0"}}),
    "queues.*.preempt.borrowing": (_PROD, ("spec", "queues", "search", "preempt", "borrowing"), "lower-priority"),
    "pools.*.sharing.mig.strategy": (_PROD, ("spec", "pools", "serve-a100", "sharing", "mig", "strategy"), "single"),
    "patches[].patch[].from": (
        "custom-euc1",
        ("spec", "patches", 1, "patch"),
        [{"op": "copy", "from": "/metadata/name", "path": "/metadata/labels/example.com~1pager"}],
    ),
    "cohorts.*.parent": (_PROD, ("spec", "cohorts"), {"company": {"parent": "group"}, "group": {}}),
}
"""Values of fields that no example sets, by field: an example spec, the path and the value."""

CANDIDATES: dict[str, tuple[Any, ...]] = {
    "podCidrs": ("10.0.0.0/18",),
    "id": ("ami-0c3f1a2b4d5e6f709",),
    "family": ("Bottlerocket", "AL2023"),
    "counted": ("quota", "kueue"),
    "kinds": ("Secret",),
    "cluster": ("rbac.authorization.k8s.io/ClusterRole",),
    "namespaced": ("ConfigMap", "Secret"),
    "version": ("v1.21.2",),
    "exclusive": ({"mps": {"replicas": 2}},),
    "sharing": ({"mps": {"replicas": 2}},),
}
"""More values by key, for fields of which most other values do not compile."""
