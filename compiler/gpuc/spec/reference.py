"""The reference of the spec language: every field with its type, unit, default and effect in out/.

The fields are the attributes of the spec models, and their descriptions are the docstrings of the attributes. The file
effects.json has an example value of each field. The file also lists what changes in out/ when the example value
changes. `make generate` measures these effects with tests/pipeline/effects.py.
"""

import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from gpuc.spec.cluster import ClusterSpec
from gpuc.spec.field_types import ELEMENT, NAME, FieldType, Steps, field_type
from gpuc.spec.schema import docstrings_of

EFFECTS = Path(__file__).parent / "effects.json"
"""A file with a map for each field of the spec that an example sets: `example`, `file`, and `effects` or `why`."""


class Field(Struct, frozen=True):
    """A field of the spec: its path, its type and its unit."""

    steps: Steps
    """The keys from the root of the file, for example spec, pools, *, nodes, max."""
    model: type[BaseModel]
    name: str
    """The name of the attribute of the model."""
    type: str
    """The type in words, with choices, form and limits."""
    unit: str
    """The unit of a number; empty for other values."""
    is_section: bool
    """Whether the value is a map or a list with fields of its own."""
    short_for: str
    """The field of the section whose value may stand for the section; empty if there is none."""

    @property
    def description(self) -> str:
        """The docstring of the attribute that defines the field in a spec model."""
        return docstrings_of(self.model)[self.name]

    @property
    def default(self) -> str:
        """The default value as text, or "required"."""
        return _default(self.model.model_fields[self.name], self.description)

    @property
    def path(self) -> str:
        """The path of the field without `spec`. A star is a name that users choose, for example pools.*.nodes.max."""
        return path_text(self.steps)


def path_text(steps: Steps) -> str:
    """Joins the keys of a path with dots. Omits `spec` at the start."""
    return ".".join(steps[1:] if steps[0] == "spec" and len(steps) > 1 else steps).replace(f".{ELEMENT}", ELEMENT)


IRREGULAR = {"policies": "policy", "quota": "pool", "serviceAccounts": "account", "nodeAgents": "agent"}
"""What the name in a map names, for keys that are not a plural with s."""


def named(path: str) -> str:
    """Replaces each star of a path by what the user names there: pools.*.nodes.max becomes pools.<pool>.nodes.max."""
    steps = path.split(".")
    before = ["", *steps]
    return ".".join(
        f"<{IRREGULAR.get(key, key.removesuffix('s'))}>" if step == NAME else step
        for key, step in zip(before, steps, strict=False)
    )


@cache
def fields() -> dict[Steps, Field]:
    """Returns all fields of the spec, in the order of the models. The keys are the paths of the fields."""
    return {field.steps: field for field in _fields((), ClusterSpec)}


@cache
def effects() -> dict[str, dict[str, Any]]:
    """Returns the content of effects.json, which has an entry for the path of each field."""
    table: dict[str, dict[str, Any]] = json.loads(EFFECTS.read_text(encoding="utf-8"))
    return table


def children(steps: Steps) -> list[Field]:
    """Returns the fields directly in a section, without the fields of its subsections."""
    return [field for field in fields().values() if _parent(field.steps) == steps]


def _parent(steps: Steps) -> Steps:
    """Returns the steps of the section of a field."""
    parent = steps[:-1]
    while parent and parent[-1] in {NAME, ELEMENT}:
        parent = parent[:-1]
    return parent


def _fields(steps: Steps, model: type[BaseModel]) -> Iterator[Field]:
    for name, info in model.model_fields.items():
        path = (*steps, info.alias or name)
        form = field_type(info.annotation, info.metadata)
        unit = form.unit or _unit(path, form)
        yield Field(path, model, name, form.words, unit, bool(form.models), form.short_for)
        for below, inner in form.models:
            yield from _fields((*path, *below), inner)


def _default(info: FieldInfo, description: str) -> str:
    """Returns the default in words. The docstring has the default of a field whose default depends on other fields."""
    if info.is_required():
        return "required"
    default = info.default
    if isinstance(default, bool | int | str):
        return json.dumps(default) if isinstance(default, bool | int) else default
    _, found, rest = " ".join(description.split()).partition("Default: ")
    return rest.split(". ")[0].removesuffix(".") if found else "none"


UNITS = {
    "nodes.max": "nodes", "nodes.min": "nodes", "nodes.static": "nodes", "reservations.instances": "instances",
    "replicas": "GPU shares per GPU", "user": "user ID", "rootVolumeThroughput": "MiB/s",
    "rootVolumeIops": "I/O operations per second", "quota.*.nodes": "nodes", "quota.*.gpus": "GPUs",
    "quota.*.shares": "GPU shares", "loadBalancers": "Services", "nodePorts": "ports", "port": "port number",
    "startAttempts": "starts", "wave": "position in the order of sync waves", "weight": "relative to other weights",
    "onPremises.pods": "pods", "trains.*.nodes": "nodes", "restarts": "restarts", "priorities.*.value": "highest first",
}  # fmt: skip
"""The units of numbers, by the last steps of the path."""


def _unit(steps: Steps, form: FieldType) -> str:
    path = path_text(steps)
    return next((unit for end, unit in UNITS.items() if f".{path}".endswith(f".{end}")), "") if form.is_number else ""


def field_at(path: Sequence[str | int]) -> tuple[Steps, int] | None:
    """Returns the field at a path, and how many keys of the path lead to the field; None if there is no field.

    The path may contain names and list indexes of a spec, or the placeholders NAME and ELEMENT for them. A list index
    may be absent. If a field contains a free map or a list of texts, a path into the map or list leads to the field.
    """
    known = fields()
    prefixes = {steps[:length] for steps in known for length in range(len(steps) + 1)}
    steps: Steps = ()
    for length, step in enumerate(path):
        is_index = isinstance(step, int) or step.isdecimal() or step == ELEMENT
        name = ELEMENT if is_index else str(step)
        choices = [(*steps, name), (*steps, NAME), (*steps, ELEMENT, name)]
        following = next((choice for choice in choices if choice in prefixes), steps if is_index else None)
        if following is None or (following == steps and not known[steps].is_section):
            return (steps, length) if steps in known and not known[steps].is_section else None
        steps = following
    return (steps, len(path)) if steps in prefixes else None
