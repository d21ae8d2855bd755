"""CustomResourceDefinitions from gpuc's schema tables are structural schemas with a status."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpuc.catalog.schemas import custom_kinds, table
from gpuc.catalog.schemas.definition import definition
from gpuc.kubernetes.api_groups import CONSTRAINT_API
from gpuc_rehearsal.crds import definitions
from gpuc_rehearsal.programs import Programs

KINDS = [(api, kind) for api, kind in custom_kinds() if api != CONSTRAINT_API]
FORBIDDEN = {"$ref", "$defs", "allOf", "anyOf", "oneOf", "not", "uniqueItems", "propertyNames", "const"}


def _schemas(schema: Any) -> Iterator[Any]:
    yield schema
    for child in (*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")):
        if isinstance(child, dict):
            yield from _schemas(child)


@pytest.mark.parametrize(("api", "kind"), KINDS)
def test_a_definition_is_structural(api: str, kind: str) -> None:
    known = table(api, kind, "")
    assert known is not None
    (version,) = definition(known)["spec"]["versions"]
    for schema in _schemas(version["schema"]["openAPIV3Schema"]):
        assert not FORBIDDEN & schema.keys()
        assert schema.get("additionalProperties") is not False
        typed = isinstance(schema.get("type"), str)
        assert typed or any(key.startswith("x-kubernetes-") for key in schema)
    assert version["subresources"] == {"status": {}}


CRD = """apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  annotations: {{}}
  name: {name}
spec: {{}}
"""


def test_given_files_replace_bundled_ones_and_tables_fill_the_rest(tmp_path: Path) -> None:
    bundled, given = tmp_path / "tools" / "data" / "kueue-crds", tmp_path / "given" / "kueue" / "v1"
    bundled.mkdir(parents=True)
    given.mkdir(parents=True)
    (bundled / "a.yaml").write_text(CRD.format(name="workloads.kueue.x-k8s.io"))
    (given / "a.yaml").write_text(CRD.format(name="applications.argoproj.io"))
    (given / "b.yaml").write_text(CRD.format(name="unrelated.example.com"))
    found = definitions(Programs(tmp_path / "tools"), tmp_path / "given", ["batch/job"])
    assert sum(isinstance(definition, bytes) for definition in found.crds) == 2
    assert b"unrelated" not in b"".join(definition for definition in found.crds if isinstance(definition, bytes))
    assert "appprojects.argoproj.io" in found.structural
    assert "applications.argoproj.io" not in found.structural
    assert "jobsets.jobset.x-k8s.io" not in found.structural


def test_kueue_finds_pytorchjobs_if_it_manages_them(tmp_path: Path) -> None:
    for frameworks in (["batch/job"], ["batch/job", "kubeflow.org/pytorchjob"]):
        found = definitions(Programs(tmp_path / "tools"), None, frameworks)
        names = [crd["metadata"]["name"] for crd in found.crds if isinstance(crd, dict)]
        assert ("pytorchjobs.kubeflow.org" in names) == (len(frameworks) == 2)
