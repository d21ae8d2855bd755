"""The topics of rules: a title for the letters at the start of rule ids, in the order of `gpuc explain`."""

TOPICS: dict[str, str] = {
    "YAML": "YAML syntax of specs",
    "LAY": "Files and layers in specs/",
    "SPC": "Keys and values of the spec",
    "VER": "Names and versions in the spec",
    "KRP": "Node pools",
    "NOD": "Nodes that exist",
    "GPU": "GPU operator and device plugins",
    "MIG": "GPU sharing: MIG layouts",
    "SHR": "GPU sharing: time-slicing and MPS",
    "EFA": "EFA and NCCL",
    "KUE": "Queues, cohorts and quotas",
    "TEN": "Tenants and namespaces",
    "TRN": "Training runtimes of tenants",
    "RBA": "Members and permissions of tenants",
    "NSP": "Tenants without NetworkPolicies",
    "NET": "Network access of tenants",
    "POL": "Admission policies",
    "CMP": "Components of the platform",
    "VAL": "Helm values of components",
    "PAT": "Patches of objects",
    "CHT": "Additional Helm charts",
    "MAN": "Manifests in specs/CLUSTER/manifests/",
    "MET": "Labels and annotations in the spec",
    "CAT": "Instance types and prices in specs/catalog/",
    "FLT": "Several clusters",
    "PRE": "Things outside of the output that objects need",
    "ARG": "Delivery with Argo CD",
    "NTF": "Notifications of alerts",
    "REM": "Removal of pools, queues, tenants and namespaces",
    "ACC": "Accepted findings",
    "IMP": "Impacts of a change on a running cluster (gpuc plan)",
    "WRT": "Files of the output in out/ and clusters/",
    "LNT": "Files that gpuc lint reads",
    "SCH": "Objects: fields and names",
    "CRD": "Objects: validation rules of CustomResourceDefinitions",
    "OBJ": "Objects: consistency",
    "REF": "Objects: references",
    "QTA": "Objects: quotas",
    "SCD": "Objects: scheduling",
    "PLC": "Objects: constraints of Gatekeeper",
    "ISO": "Objects: isolation of tenants",
    "DLV": "Objects: Applications of Argo CD",
    "MON": "Objects: monitors of Prometheus",
}
"""Titles of topics by the letters at the start of rule ids: the spec, the output, and then Kubernetes objects.

The rules of objects apply to the input of `gpuc lint`, to manifests and to the output.
"""


def topic(id: str) -> str:  # noqa: A002
    """Returns the title of the topic of a rule id such as KUE007; the letters of the id if the topic has no title."""
    letters = id.rstrip("0123456789")
    return TOPICS.get(letters, letters)
