"""The tables are strict: every single mistake in an object of any kind is reported at its path."""

from typing import Any

import pytest

from gpuc.catalog import load
from gpuc.catalog.schemas import builtin_kinds, cel_source, chart, custom_kinds, embedded, table
from gpuc.catalog.schemas.schema_errors import ErrorKind, schema_errors, validator
from gpuc.diagnostics.finding import Finding
from gpuc.diagnostics.place import place
from gpuc.kubernetes.api_groups import CONSTRAINT_API
from gpuc.manifest.manifest import Manifest
from tests.verify.findings import verify_schemas

from .samples import Sampler, mistakes

IDS = {ErrorKind.UNKNOWN: "SCH001", ErrorKind.VALUE: "SCH002", ErrorKind.MISSING: "SCH003"}
PARAMETERS = {
    "type": "object",
    "required": ["maxGpus"],
    "properties": {
        "maxGpus": {"type": "integer", "minimum": 0},
        "exempt": {"type": "array", "items": {"type": "string"}},
        "mode": {"type": "string", "enum": ["any", "all"]},
    },
}
TEMPLATE = Manifest(
    file="t.yaml", origin=("spec",), api="templates.gatekeeper.sh/v1", kind="ConstraintTemplate", name="constraint",
    body={"spec": {"crd": {"spec": {
        "names": {"kind": "Constraint"}, "validation": {"openAPIV3Schema": PARAMETERS}}}}},
)  # fmt: skip
BUILTIN = {api for api, _ in builtin_kinds("1.35")}
SEEN: set[str] = set()
"""Definitions of core kinds that were tested: they are the same for every kind and version that refers to them."""
COMPONENTS = ["efa", "gatekeeper", "gpu-operator", "karpenter", "karpenter-crd", "kueue"]


def kinds() -> list[tuple[str, str, str]]:
    versions = ("1.33", "1.34", "1.35", "1.36")
    builtin = [(version, api, kind) for version in versions for api, kind in builtin_kinds(version)]
    return builtin + [("1.35", api, kind) for api, kind in custom_kinds()]


def refused(api: str, kind: str, body: dict[str, Any], kubernetes: str, namespaced: bool) -> list[Finding]:
    manifest = Manifest(
        file="o.yaml", origin=("spec",), api=api, kind=kind, name="a", body=body, namespace="n" if namespaced else ""
    )
    tree = [TEMPLATE, manifest] if api == CONSTRAINT_API else [manifest]
    return [found for found in verify_schemas(tree, kubernetes) if found.id <= "SCH005" and "o.yaml" in found.message]


@pytest.mark.slow
@pytest.mark.parametrize(("kubernetes", "api", "kind"), kinds())
def test_every_mistake_in_an_object_is_refused_at_its_path(kubernetes: str, api: str, kind: str) -> None:
    known = table(api, kind, kubernetes)
    assert known is not None
    schema, definitions = known.schema, known.schema.get("$defs", {})
    sampler = Sampler(definitions)
    body = sampler.full(schema)
    if api == CONSTRAINT_API:
        body["spec"]["parameters"] = {"maxGpus": 1, "exempt": ["a"], "mode": "any"}
        schema = {**schema, "properties": {"spec": {
            **schema["properties"]["spec"],
            "properties": {**schema["properties"]["spec"]["properties"], "parameters": {
                **PARAMETERS, "additionalProperties": False}}}}}  # fmt: skip
    if kind == "ConstraintTemplate":
        body["spec"]["targets"][0]["code"][0]["source"] = {"validations": [{"expression": "true"}]}
    assert sampler.missed == []
    assert refused(api, kind, body, kubernetes, known.namespaced) == []
    for mistake in mistakes(schema, body, definitions, SEEN if api in BUILTIN else set()):
        found = refused(api, kind, mistake.document, kubernetes, known.namespaced)
        found_at = [(item.id, f": {mistake.place}: " in item.message) for item in found]
        assert (IDS[mistake.kind], True) in found_at, (mistake.kind, mistake.place, [item.message for item in found])


@pytest.mark.share(4)
@pytest.mark.parametrize("name", [*COMPONENTS, "K8sNativeValidation", "Configuration"])
def test_every_mistake_in_values_is_refused_at_its_path(name: str) -> None:
    own = {"K8sNativeValidation": cel_source(), **{row.kind: embedded(row) for row in load().documents}}
    schema = own.get(name) or chart(name)
    assert schema is not None
    sampler = Sampler(schema.get("$defs", {}))
    document = sampler.full(schema)
    compiled = validator(schema)
    assert sampler.missed == []
    assert list(schema_errors(compiled, document, schema)) == []
    count = 0
    for mistake in mistakes(schema, document, schema.get("$defs", {}), set()):
        found_at = [(item.kind, place(item.path)) for item in schema_errors(compiled, mistake.document, schema)]
        assert (mistake.kind, mistake.place) in found_at
        count += 1
    assert count > 0
