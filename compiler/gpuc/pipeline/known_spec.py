"""The known part of a spec with errors. Reading a wrong or missing value of this spec raises an UnknownValueError."""

from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import Annotated, Any, cast, get_args, get_origin

from msgspec import Struct
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.unknown import UnknownValueError
from gpuc.spec.cluster import ClusterSpec
from gpuc.spec.field_type import is_model, members, plain

_STRICT = ConfigDict(strict=True)


def known_spec(tree: dict[str, Any], wrong: Collection[Path] = (), incomplete: Collection[Path] = ()) -> ClusterSpec:
    """Returns the model of a spec with errors. Reading an unknown value raises an UnknownValueError.

    A value is unknown if it does not parse, if it is missing, or if a path in `wrong` is the value or below it. In a
    map with an unknown key, the keys without a value are also unknown, because the unknown key may be one of them.

    Args:
        tree: the merged spec.
        wrong: the paths of values that do not count, although they parse.
        incomplete: the paths of maps that may lack keys.
    """
    return cast(ClusterSpec, _Parser(frozenset(wrong), frozenset(incomplete)).model(ClusterSpec, tree, ()))


class _Parser(Struct, frozen=True):
    """Parses all values of a spec that have no error."""

    wrong: frozenset[Path]
    incomplete: frozenset[Path]

    def model(self, model: type[BaseModel], tree: Any, path: Path) -> BaseModel:
        """Parses a map of the spec into a model. Reading an unknown field of the model raises an error.

        Raises:
            UnknownValueError: when the map has a mistake, and its model allows any key.
        """
        if not self._has_mistake(path):
            try:
                return model.model_validate(tree)
            except ValidationError:
                pass
        if model.model_config.get("extra") != "forbid":
            raise UnknownValueError
        if path in self.wrong or not isinstance(tree, dict):
            return _instance(model, {}, ())
        instance = _instance(model, self._fields(model, tree, path), tree)
        return instance if _is_possible(model, instance) else _instance(model, {}, ())

    def _fields(self, model: type[BaseModel], tree: dict[str, Any], path: Path) -> dict[str, Any]:
        """Returns the values of the known fields by name."""
        known: dict[str, Any] = {}
        by_key = {field.alias or name: name for name, field in model.model_fields.items()}
        has_all_keys = by_key.keys() >= tree.keys() and path not in self.incomplete
        for key, name in by_key.items():
            field, where = model.model_fields[name], (*path, key)
            if key in tree:
                with suppress(ValidationError, UnknownValueError):
                    known[name] = self._value(field.annotation, field.metadata, tree[key], where)
            elif has_all_keys and not field.is_required() and where not in self.wrong:
                with suppress(KeyError):  # the default depends on an unknown field
                    known[name] = field.get_default(call_default_factory=True, validated_data=known)
        return known

    def _value(self, annotation: Any, constraints: list[Any], tree: Any, path: Path) -> Any:
        """Returns a value.

        Raises:
            ValidationError: when the value is wrong, and is not a model or a map of models.
            UnknownValueError: when the value does not count.
        """
        inner = [plain(member) for member in members(annotation)]
        only: Any = inner[0] if len(inner) == 1 else None
        if is_model(only) and tree is not None:
            return self.model(only, tree, path)
        if get_origin(only) is dict and isinstance(tree, dict) and tree and path not in self.wrong | self.incomplete:
            key_type, value_type = get_args(only)
            if is_model(value_type):
                keys = TypeAdapter(key_type, config=_STRICT)
                return {
                    keys.validate_python(key): self.model(value_type, value, (*path, key))
                    for key, value in tree.items()
                }
        if self._has_mistake(path):
            raise UnknownValueError
        return TypeAdapter(Annotated[annotation, None, *constraints], config=_STRICT).validate_python(tree)

    def _has_mistake(self, path: Path) -> bool:
        return any(other[: len(path)] == path for other in (*self.wrong, *self.incomplete))


def _instance(model: type[BaseModel], known: dict[str, Any], given: Iterable[str]) -> BaseModel:
    """Returns a model that has values only for the known fields.

    Args:
        given: the keys that the spec has. An unknown field counts as given.
    """
    keys = set(given)
    names = {name for name, field in model.model_fields.items() if name not in known or (field.alias or name) in keys}
    instance = model.model_construct(names, **known)
    for name in model.model_fields.keys() - known.keys():
        vars(instance).pop(name, None)
    return instance


def _is_possible(model: type[BaseModel], instance: BaseModel) -> bool:
    """Returns whether the known fields of a model are correct together, whatever the unknown fields are."""
    validators = [
        found for found in model.__pydantic_decorators__.model_validators.values() if found.info.mode == "after"
    ]
    try:
        for validator in validators:
            validator.func(instance)
    except (ValueError, UnknownValueError):
        return False
    return True
