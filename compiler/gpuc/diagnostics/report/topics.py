"""The topics of rules: a title for each prefix of rule ids, in the order of `gpuc explain`."""

from __future__ import annotations

TOPICS: dict[str, str] = {
    "YAML": "The YAML of specs",
    "LAY": "Files and layers of specs",
    "SPC": "Keys and values of specs",
    "ACC": "Accepted findings",
    "CAT": "Facts of the fleet: specs/catalog/",
    "VER": "Versions, and names in the spec",
    "KRP": "Node pools and Karpenter",
    "GPU": "GPUs and device plugins",
    "MIG": "MIG layouts",
    "SHR": "Time-slicing and MPS",
    "EFA": "EFA, NCCL and placement",
    "KUE": "Queues and quotas in the spec",
    "TEN": "Tenants and namespaces",
    "NSP": "Isolation of tenants",
    "NET": "Network exceptions of tenants",
    "POL": "Admission policies",
    "CMP": "Components of the platform",
    "VAL": "Helm values",
    "PAT": "Patches",
    "CHT": "Helm charts of the fleet",
    "MAN": "Manifests of the fleet",
    "MET": "Labels and annotations",
    "ARG": "Delivery with Argo CD",
    "REM": "Removal of pools, queues, tenants and namespaces",
    "FLT": "Several clusters",
    "WRT": "Files in out/ and clusters/",
    "SCH": "Fields of Kubernetes objects",
    "CRD": "Imported CustomResourceDefinitions",
    "LNT": "Files that gpuc lint reads",
    "OBJ": "Consistency of Kubernetes objects",
    "REF": "References between Kubernetes objects",
    "QTA": "Quotas of Kubernetes objects",
    "SCD": "Scheduling",
    "PLC": "Constraints of Gatekeeper",
    "ISO": "Isolation between tenants in objects",
    "RBA": "Rights of tenants",
    "DLV": "Applications of Argo CD",
    "MON": "Monitors of Prometheus",
}
"""Titles of topics by the letters at the start of rule ids."""


def topic(id: str) -> str:  # noqa: A002
    """Returns the title of the topic of a rule id; the letters of the id if the topic has no title."""
    letters = id.rstrip("0123456789")
    return TOPICS.get(letters, letters)
