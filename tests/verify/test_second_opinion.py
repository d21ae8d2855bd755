"""jsonschema and jsonschema-rs accept every emitted object and refuse every mistake in a sample."""

import json
import re
from functools import cache
from itertools import islice
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from gpuc.catalog.schemas import builtin_kinds, custom_kinds, table
from gpuc.catalog.schemas.schema_errors import validator
from gpuc.kubernetes.quantity import is_canonical_quantity
from gpuc.manifest.manifest import Manifest
from tests.conftest import EXAMPLES, compiled_example
from tests.lanes import Lane

from .samples import Sampler, mistakes

KINDS = [*builtin_kinds("1.35"), *custom_kinds()]
EVERY = 3 if Lane.is_full else 9
"""One of so many mistakes is tested."""
SEEN: set[str] = set()
"""Definitions that were tested: they are the same for every core kind that refers to them."""
FORMATS = FormatChecker(())
FORMATS.checks("quantity")(lambda value: not isinstance(value, str) or is_canonical_quantity(value))


def once(_: Any, keys: list[str], items: Any, schema: dict[str, Any]) -> Any:
    """No two items of a list map have the same key."""
    defaults = {name: field.get("default") for name, field in schema["items"].get("properties", {}).items()}
    found = [tuple(item.get(key, defaults.get(key)) for key in keys) for item in items if isinstance(item, dict)]
    if len(set(found)) < len(found):
        yield ValidationError("a key twice")


@cache
def jsonschema_of(schema: str) -> Any:
    """Returns the schema with the flags of patterns at the start or for a group, where Python requires them."""
    read = json.loads(re.sub(r"\(\(\?i\)([^()]*)\)", r"((?i:\1))", schema.replace('"^(?i)', '"(?i)^')))
    return extend(Draft202012Validator, {"x-kubernetes-list-map-keys": once})(read, format_checker=FORMATS)


def of_table(api: str, kind: str, kubernetes: str) -> dict[str, Any]:
    known = table(api, kind, kubernetes)
    assert known is not None
    return known.schema


@pytest.mark.share(3)
@pytest.mark.parametrize("name", EXAMPLES)
def test_both_accept_every_object_of_an_example(name: str) -> None:
    spec = compiled_example(name)
    emitted = [artifact for artifact in spec.artifacts if isinstance(artifact, Manifest)]
    assert emitted
    for manifest in emitted:
        schema = of_table(manifest.api, manifest.kind, spec.cluster.spec.kubernetes)
        assert validator(schema).is_valid(manifest.body)
        assert list(jsonschema_of(json.dumps(schema)).iter_errors(manifest.body)) == [], manifest


@pytest.mark.slow
@pytest.mark.parametrize(("api", "kind"), KINDS)
def test_both_refuse_every_mistake(api: str, kind: str) -> None:
    schema = of_table(api, kind, "1.35")
    sampler = Sampler(schema.get("$defs", {}))
    body = sampler.full(schema)
    one, text = validator(schema), json.dumps(schema)
    if re.search(r"\\[pP]", text):
        pytest.skip("a pattern has a Unicode class, which the module re of Python does not know")
    other = jsonschema_of(text)
    assert one.is_valid(body) and other.is_valid(body)
    shared = SEEN if (api, kind) in builtin_kinds("1.35") else set()
    for mistake in islice(mistakes(schema, body, schema.get("$defs", {}), shared), 0, None, EVERY):
        assert not one.is_valid(mistake.document), mistake.place
        assert not other.is_valid(mistake.document), mistake.place
