"""Validates the objects of Kubernetes' built-in kinds with kubeconform."""

import json
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from gpuc.pipeline.stages import CompiledSpec
from tests.conformance.check_result import CheckResult

REQUIREMENT = "the package kubernetes-validate is not installed: pip install 'kubernetes-validate>=1.36'"
_DEFINITIONS = "_definitions.json"


def missing() -> str:
    """Why kubeconform has no schemas to validate with; empty if the schemas are installed."""
    return "" if find_spec("kubernetes_validate") else REQUIREMENT


def validate(kubeconform: Path, folder: Path, spec: CompiledSpec) -> Iterator[CheckResult]:
    """Validates every emitted object of a built-in kind with the strict schemas of the cluster's Kubernetes version."""
    version = f"{spec.cluster.spec.kubernetes}.0"
    schemas = _schemas(folder / version, version)
    documents = [manifest.document() for manifest in (*spec.synced, *spec.workloads) if not _is_custom(manifest.api)]
    file = folder / f"{spec.cluster.name}.yaml"
    file.write_text("\n---\n".join(json.dumps(document) for document in documents), encoding="utf-8")
    location = f"{schemas}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json"
    arguments = ("-strict", "-summary", "-output", "json", "-schema-location", location)
    done = subprocess.run([str(kubeconform), *arguments, str(file)], capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    problems = [f"{row['kind']} {row['name']}: {row['msg']}" for row in report["resources"]]
    validated = sum(report["summary"][key] for key in ("valid", "invalid", "errors"))
    if validated != len(documents):
        problems.append(f"kubeconform validated {validated} of {len(documents)} objects")
    yield CheckResult(
        f"kubeconform accepts the built-in kinds of {spec.cluster.name}",
        "; ".join(problems),
        f"{len(documents)} objects",
    )


def _schemas(folder: Path, version: str) -> Path:
    """The package's strict schemas, with references rewritten to file names."""
    if not folder.exists():
        found = find_spec("kubernetes_validate")
        assert found is not None and found.origin is not None
        source = Path(found.origin).parent / "kubernetes-json-schema" / f"v{version}-local-strict"
        folder.mkdir(parents=True)
        for file in source.glob("*.json"):
            schema = json.loads(file.read_text(encoding="utf-8").replace(f"/api/{_DEFINITIONS}", _DEFINITIONS))
            schema.pop("$id", None)  # a URL, to which references would be relative
            (folder / file.name).write_text(json.dumps(schema), encoding="utf-8")
    return folder


def _is_custom(api: str) -> bool:
    group = api.rpartition("/")[0]
    return group.endswith(".x-k8s.io") or ("." in group and not group.endswith(".k8s.io"))
