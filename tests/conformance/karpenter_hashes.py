"""Compares the fields that gpuc plan takes for hashed with the real hash functions of Karpenter and its AWS provider.

`make conformance-all` runs this module after `gpuc tools --karpenter-hash`. Without the program the test does not run.
The objects are the NodePools and EC2NodeClasses of the example clusters. The edits are: another value for each leaf,
another text of each duration and quantity, each field and list item removed, each list in another order, and each
field of the CRD added that the object lacks.
The first object of each kind is also edited after all fields of the CRD have been added. Requirements of NodePools are
in no hash: karpenter_requirements.py compares them.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from gpuc.catalog.schemas import table
from gpuc.diagnostics.finding import Path as FieldPath
from gpuc.manifest.manifest import Body, Manifest
from gpuc.plan.change import Pair
from gpuc.substrates.eks.node_hash import hashed_fields
from gpuc_rehearsal.tools.selection import OTHERS
from tests.conformance import karpenter_requirements
from tests.conformance.check_result import CheckResult, report
from tests.conftest import EXAMPLES, HUB_CLUSTERS
from tests.pipeline.memory import compile_tree, source
from tests.values import changed, walk, without

KUBERNETES = "1.35"
KINDS = ("NodePool", "EC2NodeClass")
Edit = tuple[str, Body]
"""A description, and the body after the edit."""


def objects(kind: str) -> Iterator[Manifest]:
    """Yields the objects of a kind of all example clusters, and one with all fields of the CRD."""
    found = [
        artifact
        for name in (*EXAMPLES, *HUB_CLUSTERS)
        for artifact in compile_tree(name, source(name).tree)[1]
        if isinstance(artifact, Manifest) and artifact.kind == kind
    ]
    yield from found
    yield replace(found[0], name="complete", body=_complete(found[0].body, _schema(found[0])))


def edits(body: Body, schema: Mapping[str, Any]) -> Iterator[Edit]:
    """Yields the edits of an object."""
    for path, value in list(walk(body["spec"], ("spec",))):
        name = ".".join(map(str, path))
        if len(path) > 1:
            yield f"without {name}", without(body, path)
        if isinstance(value, list) and len(value) > 1:
            yield f"{name} in another order", changed(body, path, value[::-1])
        if not isinstance(value, dict | list):
            yield f"another {name}", changed(body, path, _other(_schema_at(schema, path), value))
            for text in _respelled(value):
                yield f"{name} as {text}", changed(body, path, text)
        if isinstance(value, dict):
            known = _schema_at(schema, path).get("properties", {})
            for key in known.keys() - value.keys():
                for number, added in enumerate(_values(schema, known[key], key)):
                    yield f"{name}.{key} added ({number})", changed(body, (*path, key), added)


def compared(program: Path, manifest: Manifest) -> tuple[int, list[str]]:
    """Returns the number of edits of an object, and the edits for which gpuc and Karpenter disagree."""
    found = list(edits(manifest.body, _schema(manifest)))
    after = [replace(manifest, body=body) for _, body in found]
    first, *others = hashes(program, [manifest, *after])
    problems = []
    for (name, _), edited, real in zip(found, after, others, strict=True):
        fields = hashed_fields(Pair(manifest, edited))
        if bool(fields) != (first != real):
            answer = "does not change" if first == real else "changes"
            problems.append(f"{manifest} {name}: the real hash {answer}")
    return len(found), problems


def hashes(program: Path, manifests: Sequence[Manifest]) -> list[str]:
    """Returns the hashes that Karpenter writes into the annotations of the objects."""
    text = "\n".join(json.dumps(_stored(manifest)) for manifest in manifests)
    done = subprocess.run([program], input=text, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def checks(program: Path) -> Iterator[CheckResult]:
    """Yields a result for each kind."""
    for kind in KINDS:
        results = [compared(program, manifest) for manifest in objects(kind)]
        name = f"gpuc plan and Karpenter agree on the edits that change the hash of a {kind}"
        problems = [problem for _, found in results for problem in found]
        yield CheckResult(name, "\n".join(problems), f"{sum(count for count, _ in results)} edits of {kind} objects")


def _stored(manifest: Manifest) -> Body:
    """Returns the object with the default that the API server adds to a hashed field."""
    document = deepcopy(manifest.document())
    if manifest.kind == "NodePool" and "spec" in document["spec"].get("template", {}):
        document["spec"]["template"]["spec"].setdefault("expireAfter", "720h")
    return document


def _schema(manifest: Manifest) -> Mapping[str, Any]:
    known = table(manifest.api, manifest.kind, KUBERNETES)
    assert known is not None, manifest
    return known.schema


def _complete(body: Body, schema: Mapping[str, Any]) -> Body:
    """Returns the body with all fields of its schema. Maps and lists with items keep their values."""
    for path, value in list(walk(body)):
        if isinstance(value, dict):
            for key, inner in _schema_at(schema, path).get("properties", {}).items():
                if key not in value:
                    body = changed(body, (*path, key), next(_values(schema, inner, key)))
    return body


def _schema_at(schema: Mapping[str, Any], path: FieldPath) -> Mapping[str, Any]:
    found: Mapping[str, Any] = schema
    for step in path:
        found = _resolved(schema, found)
        if isinstance(step, int):
            found = found.get("items", {})
        else:
            found = found.get("properties", {}).get(step) or found.get("additionalProperties") or {}
    return _resolved(schema, found)


def _resolved(root: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = schema.get("$ref")
    return root["$defs"][reference.rpartition("/")[2]] if reference else schema


def _other(schema: Mapping[str, Any], value: Any) -> Any:
    """Returns another value of a leaf."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if "enum" in schema:
        return next((member for member in schema["enum"] if member != value), f"{value}-2")
    if schema.get("format") == "date-time":
        return "2026-01-02T00:00:00Z"
    if amount := re.fullmatch(r"(\d+)(\D*)", value):
        return f"{int(amount[1]) + 1}{amount[2]}"
    return "24h" if value == "Never" else f"{value}-2"


def _respelled(value: Any) -> Iterator[str]:
    """Yields other texts for the value of a duration or a quantity."""
    if match := re.fullmatch(r"(\d+)h", str(value)):
        yield from (f"{value}0m0s", f"{int(match[1]) * 60}m")
    if match := re.fullmatch(r"(\d+)Gi", str(value)):
        yield from (f"{int(match[1]) * 1024}Mi", str(int(match[1]) * 1024**3))


def _values(root: Mapping[str, Any], schema: Mapping[str, Any], key: str = "") -> Iterator[Any]:
    """Yields values of a schema: a complete value first, then an empty value or the zero value."""
    schema = _resolved(root, schema)
    match schema.get("type"):
        case "object" if "properties" in schema:
            yield {name: next(_values(root, inner, name)) for name, inner in schema["properties"].items()}
            yield {}
        case "object":
            yield {"memory.available": "2h"}
            yield {}
        case "array":
            yield [next(_values(root, schema["items"]))]
            yield []
        case "boolean":
            yield from (True, False)
        case "integer":
            yield from (7, 0)
        case _ if schema.get("format") == "date-time":
            yield "2026-01-01T00:00:00Z"
        case _ if "enum" in schema:
            yield from schema["enum"][:2]
        case _:
            yield "bottlerocket@v1.50.0" if key == "alias" else "2h"


def main(arguments: Sequence[str]) -> int:
    program = OTHERS["karpenter-hash"].home() / "bin" / "karpenter-hash"
    if not program.exists():
        print("not run: drift with the real Karpenter: run `gpuc tools --karpenter-hash`")
        return 0
    results = [*checks(program), *karpenter_requirements.checks(program, list(objects("NodePool"))[:-1])]
    return report(results, lambda done: f"{', '.join(result.note for result in done)}; ")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
