"""The sections of the spec that belong to one substrate. A substrate is a place where a cluster lives, such as a cloud.

Each folder of gpuc.substrates has a module section.py with the variable SECTIONS, which gpuc finds by its name.
"""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, cast

from msgspec import Struct
from pydantic import BaseModel, Field, create_model

_SUBSTRATES = "gpuc.substrates"
_Model = TypeVar("_Model", bound=BaseModel)


class Sections(Struct, frozen=True, kw_only=True):
    """The sections of the spec that a substrate adds: `cloud.NAME` of the cluster, and a section of each node pool."""

    folder: str
    """The folder of the substrate in gpuc.substrates."""
    name: str
    """The key below `cloud`, which chooses the substrate, for example none."""
    title: str
    """The substrate in a message, for example "existing nodes"."""
    cloud: type[BaseModel]
    """The model of the section `cloud.NAME`."""
    cloud_text: str
    """What the section `cloud.NAME` is, as the docstring of a field."""
    pool_key: str
    """The key of a node pool with the section of the substrate."""
    pool: type[BaseModel]
    """The model of the section of a node pool. All of its fields have a default."""
    pool_text: str
    """What the section of a node pool is, as the docstring of a field."""
    names_nodes: bool
    """Whether the section of a pool names its nodes, so that the pool has no field `nodes`."""
    instead: Mapping[str, str]
    """What to write instead of a field, by the field of the section of a pool of another substrate."""
    fields: Mapping[str, type[BaseModel]]
    """Fields of other models of the spec whose form only the substrate knows, by the name of the model."""


@cache
def substrates() -> tuple[Sections, ...]:
    """Returns the variable SECTIONS of each substrate, sorted by the name of the substrate's folder."""
    return tuple(module.SECTIONS for module in substrate_modules("section"))


def substrate_modules(name: str) -> list[ModuleType]:
    """Imports and returns the modules with a name, such as section, in the folders of all substrates."""
    package = find_spec(_SUBSTRATES)
    assert package is not None and package.submodule_search_locations, "gpuc.substrates is a package"
    files = sorted(Path(package.submodule_search_locations[0]).glob(f"*/{name}.py"))
    return [import_module(f"{_SUBSTRATES}.{file.parent.name}.{name}") for file in files]


@cache
def substrate_records(name: str, variable: str) -> dict[str, Any]:
    """Returns a variable of each substrate, such as OUTPUT in output.py, by its key in `cloud`, such as onPremises."""
    records = [getattr(module, variable) for module in substrate_modules(name)]
    return {record.sections.name: record for record in records}


def with_pool_sections(model: type[_Model]) -> type[_Model]:
    """Returns the model of a node pool with a further field for the section of each substrate."""
    fields: dict[str, Any] = {
        part.pool_key: (part.pool, Field(default_factory=part.pool.model_construct, description=part.pool_text))
        for part in substrates()
    }
    return create_model("Pool", __base__=model, __doc__=model.__doc__, __module__=model.__module__, **fields)


def with_fields(model: type[_Model]) -> type[_Model]:
    """Replaces fields of a model by the fields that the substrates define for this model. Used as a decorator."""
    name = model.__name__
    bases: Any = (*(part.fields[name] for part in substrates() if name in part.fields), model)
    made = create_model(name, __base__=bases, __doc__=model.__doc__, __module__=model.__module__)
    return cast("type[_Model]", made)


def with_cloud_sections(model: type[_Model]) -> type[_Model]:
    """Returns the model of the section `cloud` with a field for each substrate."""
    fields: dict[str, Any] = {
        part.name: (part.cloud | None, Field(default=None, description=part.cloud_text)) for part in substrates()
    }
    return create_model("Cloud", __base__=model, __doc__=model.__doc__, __module__=model.__module__, **fields)
