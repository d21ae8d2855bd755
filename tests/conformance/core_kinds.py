"""kubeconform as a second opinion on the kinds that Kubernetes itself serves."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from gpuc.pipeline.stages import CompiledSpec
from tests.conformance.outcome import Check

NEEDED = "the package kubernetes-validate is not installed: pip install 'gpuc[conformance]'"
_DEFINITIONS = "_definitions.json"


def missing() -> str:
    """Why there is no second opinion; empty where there is one."""
    return "" if find_spec("kubernetes_validate") else NEEDED


def judge(kubeconform: Path, folder: Path, spec: CompiledSpec) -> Iterator[Check]:
    """Every emitted object of a core kind against the strict schemas of the cluster's Kubernetes version."""
    version = f"{spec.cluster.spec.kubernetes}.0"
    schemas = _schemas(folder / version, version)
    documents = [each.document() for each in (*spec.synced, *spec.workloads) if not _is_custom(each.api)]
    file = folder / f"{spec.cluster.name}.yaml"
    file.write_text("\n---\n".join(json.dumps(each) for each in documents), encoding="utf-8")
    location = f"{schemas}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json"
    command = [kubeconform, "-strict", "-summary", "-output", "json", "-schema-location", location, file]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    bad = [f"{row['kind']} {row['name']}: {row['msg']}" for row in report["resources"]]
    judged = sum(report["summary"][key] for key in ("valid", "invalid", "errors"))
    if judged != len(documents):
        bad.append(f"{judged} of {len(documents)} objects were judged")
    yield Check(f"kubeconform {spec.cluster.name}", "; ".join(bad), f"{len(documents)} objects of core kinds")


def _schemas(folder: Path, version: str) -> Path:
    """The package's strict schemas with references that a reader of files can follow."""
    if not folder.exists():
        found = find_spec("kubernetes_validate")
        assert found is not None and found.origin is not None
        source = Path(found.origin).parent / "kubernetes-json-schema" / f"v{version}-local-strict"
        folder.mkdir(parents=True)
        for file in source.glob("*.json"):
            schema = json.loads(file.read_text(encoding="utf-8").replace(f"/api/{_DEFINITIONS}", _DEFINITIONS))
            schema.pop("$id", None)  # it is a place in the web, to which references would be relative
            (folder / file.name).write_text(json.dumps(schema), encoding="utf-8")
    return folder


def _is_custom(api: str) -> bool:
    group = api.rpartition("/")[0]
    return group.endswith(".x-k8s.io") or ("." in group and not group.endswith(".k8s.io"))
