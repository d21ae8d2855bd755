"""Tables of custom kinds, from CustomResourceDefinitions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from gpuc.catalog.schemas.sharing import shared
from gpuc.catalog.schemas.structural import Schema, strict

_PROJECTS = (
    "argo-cd", "gatekeeper", "gpu-operator", "jobset", "karpenter-provider-aws", "kueue", "prometheus-operator",
    "trainer",
)  # fmt: skip
_KUEUE = (
    "AdmissionCheck", "ClusterQueue", "Cohort", "LocalQueue", "MultiKueueCluster", "MultiKueueConfig",
    "ProvisioningRequestConfig", "ResourceFlavor", "Topology", "WorkloadPriorityClass",
)  # fmt: skip
_KINDS = {
    ("karpenter.sh", "v1"): ("NodePool",),
    ("karpenter.sh", "v1alpha1"): ("NodeOverlay",),
    ("karpenter.k8s.aws", "v1"): ("EC2NodeClass",),
    # The older version is served still, and what people have is most often written in it.
    ("kueue.x-k8s.io", "v1beta1"): _KUEUE,
    ("kueue.x-k8s.io", "v1beta2"): _KUEUE,
    ("templates.gatekeeper.sh", "v1"): ("ConstraintTemplate",),
    ("config.gatekeeper.sh", "v1alpha1"): ("Config",),
    ("syncset.gatekeeper.sh", "v1alpha1"): ("SyncSet",),
    ("expansion.gatekeeper.sh", "v1alpha1"): ("ExpansionTemplate",),
    ("expansion.gatekeeper.sh", "v1beta1"): ("ExpansionTemplate",),
    ("argoproj.io", "v1alpha1"): ("Application", "AppProject"),
    ("monitoring.coreos.com", "v1"): ("PodMonitor", "PrometheusRule", "ServiceMonitor"),
    ("jobset.x-k8s.io", "v1alpha2"): ("JobSet",),
    ("trainer.kubeflow.org", "v1alpha1"): ("TrainJob",),
    ("nvidia.com", "v1"): ("ClusterPolicy",),
}  # fmt: skip
_ENUMS: dict[tuple[str, str], list[str]] = {
    ("ConstraintTemplate", "spec.targets.[].target"): ["admission.k8s.gatekeeper.sh"],
    ("ConstraintTemplate", "spec.targets.[].code.[].engine"): ["K8sNativeValidation", "Rego"],
    ("Config", "spec.match.[].processes.[]"): ["*", "audit", "webhook", "sync", "mutation-webhook"],
    ("Constraint", "spec.match.scope"): ["*", "Cluster", "Namespaced"],
}
"""Values that the controllers compare with in code and the CRDs leave open."""


def custom_tables(folder: Path) -> dict[str, Any]:
    """The table of every custom kind by its file: group/Kind_version.json.

    Args:
        folder: holds <project>/<version>/*.yaml.
    """
    made: dict[str, Any] = {}
    for definition in _definitions(folder):
        spec = definition["spec"]
        for version in spec["versions"]:
            schema = version["schema"]["openAPIV3Schema"]
            names = {"plural": spec["names"]["plural"], "namespaced": spec["scope"] == "Namespaced"}
            if spec["names"]["kind"] in _KINDS.get((spec["group"], version["name"]), ()):
                file = f"{spec['group']}/{spec['names']['kind']}_{version['name']}.json"
                made[file] = _table(spec["names"]["kind"], schema, names)
            if spec["names"]["kind"] == "DummyCRD":
                made["constraints.gatekeeper.sh/Constraint_v1beta1.json"] = _constraint(schema)
    return made


def custom_resource(folder: Path, project: str, kind: str) -> Schema:
    """The schema of a kind's first version as its CRD has it, without the steps of `strict`."""
    found = next(item for item in _definitions(folder, (project,)) if item["spec"]["names"]["kind"] == kind)
    schema: Schema = found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def _definitions(folder: Path, projects: tuple[str, ...] = _PROJECTS) -> Iterator[Any]:
    wanted = {kind for kinds in _KINDS.values() for kind in kinds} | {"DummyCRD"}
    for project in projects:
        for path in sorted(folder.glob(f"{project}/*/*.yaml")):
            text = path.read_text(encoding="utf-8")
            if any(f"kind: {kind}\n" in text for kind in wanted):
                loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
                yield from (item for item in yaml.load_all(text, loader) if item)


def _table(kind: str, schema: Schema, names: Schema) -> Schema:
    body = {
        **schema,
        "type": "object",
        "properties": {
            name: child
            for name, child in schema["properties"].items()
            if name not in {"apiVersion", "kind", "metadata", "status"}
        },
        "required": [name for name in schema.get("required", []) if name not in {"metadata", "status"}],
    }
    closed = strict(body)
    if not closed["required"]:
        del closed["required"]
    for (owner, path), values in _ENUMS.items():
        if owner == kind:
            _at(closed, path)["enum"] = values
    return {**names, "schema": shared(closed)}


def _at(schema: Schema, path: str) -> Schema:
    for step in path.split("."):
        schema = schema["items"] if step == "[]" else schema["properties"][step]
    return schema


_ACTIONS = ["dryrun", "warn", "deny"]
_SCOPED = {
    "type": "object",
    "properties": {
        "action": {"type": "string", "enum": _ACTIONS},
        "enforcementPoints": {
            "type": "array",
            "items": {"type": "object", "properties": {"name": {"type": "string"}}},
        },
    },
}
"""Source: open-policy-agent/frameworks 2026-06-16 constraint/pkg/client/crds/schema.go (CreateSchema)."""


def _constraint(schema: Schema) -> Schema:
    """Any constraint: its match is Gatekeeper's own, its parameters are its template's business."""
    spec = {
        "type": "object",
        "properties": {
            "enforcementAction": {"type": "string", "enum": [*_ACTIONS, "scoped"]},
            "scopedEnforcementActions": {"type": "array", "items": _SCOPED},
            "match": schema["properties"]["embeddedMatch"],
            "parameters": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    return _table("Constraint", {"properties": {"spec": spec}}, {"plural": "", "namespaced": False})
