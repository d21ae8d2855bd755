"""Karpenter objects against the upstream CRDs: CEL rules and defaults of the API server."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuc.cel.program import Program, Value, compiled
from gpuc.manifest.manifest import Manifest
from gpuc.substrates.eks.karpenter.component import karpenter
from tests.conftest import Variant

Schema = dict[str, Any]


@pytest.fixture
def schemas(shared: Path) -> dict[str, Schema]:
    return read_schemas(shared / "upstream" / "crds" / "karpenter-provider-aws")


@cache
def read_schemas(folder: Path) -> dict[str, Schema]:
    """Returns the schema of spec, by kind."""
    found = {}
    for file in sorted(folder.rglob("*.yaml")):
        document = yaml.load(file.read_text(), yaml.CSafeLoader)
        version = document["spec"]["versions"][0]
        found[document["spec"]["names"]["kind"]] = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return found


def refusals(schema: Schema, value: Any) -> Iterator[str]:
    """Yields the messages of the rules that a value violates, without rules for updates."""
    for rule in schema.get("x-kubernetes-validations", []):
        if "oldSelf" not in rule["rule"]:
            program = compiled(rule["rule"], ("self",))
            assert isinstance(program, Program), program
            if program.evaluate({"self": value}) != Value(True):
                yield rule.get("message", rule["rule"])
    for part, inner in children(schema, value):
        yield from refusals(part, inner)


def missing_defaults(schema: Schema, value: Any, path: str = "spec") -> Iterator[str]:
    """Yields fields that the API server would add because their parent exists."""
    if isinstance(value, dict):
        for name, part in schema.get("properties", {}).items():
            if "default" in part and name not in value:
                yield f"{path}.{name}"
    for part, inner in children(schema, value):
        yield from missing_defaults(part, inner, path)


def children(schema: Schema, value: Any) -> Iterator[tuple[Schema, Any]]:
    if isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties")
        for name, inner in value.items():
            if name in known:
                yield known[name], inner
            elif isinstance(others, dict):
                yield others, inner
    elif isinstance(value, list):
        for inner in value:
            yield schema["items"], inner


def static(spec: dict[str, Any]) -> None:
    spec["pools"]["train-h100"]["nodes"] = {"static": 16}
    spec["pools"]["train-h100"]["eks"]["placement"] = "cluster"


def other_images(spec: dict[str, Any]) -> None:
    spec["pools"]["dev-l4"].setdefault("eks", {})["image"] = "bottlerocket@v1.40.0"
    spec["pools"]["embed-l40s"].setdefault("eks", {})["image"] = {"family": "Ubuntu", "id": "ami-0123456789abcdef0"}


@pytest.mark.parametrize("change", [lambda spec: None, static, other_images])
def test_no_rule_refuses_and_no_default_is_added(
    schemas: dict[str, Schema], variant: Variant, change: Callable[[dict[str, Any]], None]
) -> None:
    manifests = [item for item in karpenter(variant(change)) if isinstance(item, Manifest) and item.kind in schemas]
    assert {manifest.kind for manifest in manifests} == {"EC2NodeClass", "NodeOverlay", "NodePool"}
    for manifest in manifests:
        schema = schemas[manifest.kind]
        assert list(refusals(schema, manifest.body["spec"])) == [], str(manifest)
        assert list(missing_defaults(schema, manifest.body["spec"])) == [], str(manifest)


def test_the_rules_are_evaluated(schemas: dict[str, Schema]) -> None:
    cards = [{"networkCardIndex": 0, "deviceIndex": index, "interfaceType": "efa-only"} for index in (0, 1)]
    broken = {"networkInterfaces": cards, "metadataOptions": {}}
    messages = list(refusals(schemas["EC2NodeClass"], broken))
    assert any("primary interface" in message for message in messages)
    assert any("one efa device per network card" in message for message in messages)
    assert "spec.httpTokens" in list(missing_defaults(schemas["EC2NodeClass"], broken))
