"""Every field of the spec language is set in an example spec, so that tests/pipeline/test_leaves.py can change it."""

from collections.abc import Iterator
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from gpuc.diagnostics.finding import DeclarationError
from gpuc.source import read
from gpuc.spec import schema
from gpuc.spec.base import SpecModel
from gpuc.spec.cluster import ClusterSpec
from gpuc.spec.parse import parse
from tests.conftest import CUSTOM, EXAMPLES, HUB, HUB_CLUSTERS, MACHINE_CLUSTERS, MACHINES, ROOT

UNSET = {
    # By attribute, or by class and attribute: why no example sets the field.
    "Queue.accept": "the examples have no finding of a queue to accept",
    "Tenant.accept": "the examples have no finding of a tenant to accept",
    "hold": "only before the end of a capacity block",
    "leaving": "only while an element leaves; the examples have all of theirs",
    "removed": "only after an element left",
    "Removed": "only after an element left",
    "Releases.components": "replaces a version; the examples take the release set unchanged",
    "Aws.add_on_registry": "replaces the registry of AWS in the region",
    "EksPool.image": "replaces the image of the cluster, which the examples set",
    "Chart.namespaces": "all objects of the chart in the examples are in one namespace",
    "Chart.tenant": "the chart in the examples belongs to the platform",
    "Chart.wave": "replaces the default, which is after all objects of gpuc",
    "Chart.accept": "the chart in the examples has no finding to accept",
    "Mig.strategy": "single excludes the mixed layouts of the examples",
    "Network.metrics": "the examples take the default port",
    "Cohort.parent": "the cohorts of the examples have one level",
    "Cohort.weight": "no effect without a parent; the cohorts of the examples have one level",
    "ComponentSettings.managed": "the examples install all components",
    "ComponentSettings.namespace": "the examples use the namespaces of the release set",
    "Patch.accept": "the patches of the examples have no finding to accept",
    "Operation.from_": "only for the operations move and copy",
    "Preempt.borrowing": "excludes fair sharing, which the examples set",
}


def models(hint: Any) -> Iterator[type[BaseModel]]:
    """The models in a type."""
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        yield hint
    for part in get_args(hint):
        yield from models(part)


def declared(model: type[BaseModel], found: set[str]) -> set[str]:
    """Class and attribute of every field of a model and of the models below it."""
    for name, field in model.model_fields.items():
        if f"{model.__name__}.{name}" not in found:
            found.add(f"{model.__name__}.{name}")
            for below in models(field.annotation):
                declared(below, found)
    return found


def used(value: Any) -> Iterator[str]:
    """Class and attribute of every field that a spec sets."""
    if isinstance(value, BaseModel):
        for name in value.model_fields_set:
            yield f"{type(value).__name__}.{name}"
            yield from used(getattr(value, name))
    elif isinstance(value, dict):
        for part in value.values():
            yield from used(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from used(part)


def reason(field: str) -> str:
    """The entry of UNSET that is about a field; empty without one."""
    model, _, name = field.partition(".")
    return next((key for key in (field, model, name) if key in UNSET), "")


def test_every_field_is_set_in_an_example_spec() -> None:
    specs = [read(ROOT, f"specs/{name}.yaml") for name in EXAMPLES]
    specs += [read(HUB, f"specs/{name}.yaml") for name in HUB_CLUSTERS]
    specs += [read(CUSTOM, "specs/custom-euc1.yaml")]
    specs += [read(MACHINES, f"specs/{name}.yaml") for name in MACHINE_CLUSTERS]
    found = {field for spec in specs for field in used(parse(spec))}
    unset = declared(ClusterSpec, set()) - found
    without_reason = sorted(field for field in unset if not reason(field))
    assert not without_reason, (
        f"set these fields in an example spec, best in prod-use1.yaml or vega-prod.yaml: {without_reason}"
    )
    assert {reason(field) for field in unset} == UNSET.keys(), "entries of UNSET that an example sets by now"


class Undocumented(SpecModel):
    """A model whose attribute has no docstring."""

    size: int


def test_an_attribute_without_a_docstring_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "ClusterSpec", Undocumented)
    with pytest.raises(DeclarationError, match=r"^Undocumented\.size has no docstring below the attribute$"):
        schema.json_schema()
