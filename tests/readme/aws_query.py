"""The fields in a JMESPath query (`--query`), compared with the output of an API operation."""

from dataclasses import dataclass
from functools import reduce
from typing import Any

import jmespath
from botocore.model import ListShape, MapShape, Shape, StructureShape
from jmespath.exceptions import ParseError

Node = dict[str, Any]


class QueryProblem(Exception):
    """A query that JMESPath does not accept, or that reads a field which the output does not have."""


@dataclass(frozen=True)
class _Many:
    """A list: of the API, or the result of a projection."""

    item: "Shape | _Many | None"


Type = Shape | _Many | None
"""None: a value whose members are not known."""
_SAME_TYPE = ("reverse", "sort", "sort_by")
"""Functions that return the type of their first argument."""
_MEMBER_TYPE = ("max_by", "min_by")


def query_problem(query: str, output: Shape | None) -> str:
    """The first mistake of a query; empty if there is none."""
    try:
        _result(jmespath.compile(query).parsed, output)
    except ParseError as error:
        return f"--query {query}: {str(error).splitlines()[0]}"
    except QueryProblem as error:
        return f"--query {query}: {error}"
    return ""


def _result(node: Node, found: Type) -> Type:
    """The type of a node's result, for an input of the type `found`."""
    children = node["children"]
    match node["type"]:
        case "field":
            return _field(node["value"], found)
        case "subexpression" | "index_expression" | "pipe":
            return reduce(lambda before, child: _result(child, before), children, found)
        case "index":
            return _item(found)
        case "slice" | "identity" | "current":
            return found
        case "flatten" | "projection" | "value_projection" | "filter_projection":
            return _projection(node, found)
        case "function_expression":
            return _function(node, found)
    for child in children:  # comparisons, `&&`, `[a, b]`, `{key: a}`
        _result(child, found)
    return None


def _projection(node: Node, found: Type) -> _Many:
    left, *others = node["children"]
    source = _result(left, found)
    if node["type"] == "value_projection":
        return _Many(_result(others[0], source.value if isinstance(source, MapShape) else None))
    item = _item(source)
    if node["type"] == "flatten":
        return _Many(_item(item) if isinstance(item, ListShape | _Many) else item)
    if node["type"] == "filter_projection":
        _result(others[1], item)
    return _Many(_result(others[0], item))


def _function(node: Node, found: Type) -> Type:
    arguments = node["children"]
    first = _result(arguments[0], found) if arguments else None
    for argument in arguments[1:]:
        _result(argument, _item(first) if argument["type"] == "expref" else found)
    return first if node["value"] in _SAME_TYPE else _item(first) if node["value"] in _MEMBER_TYPE else None


def _field(name: str, found: Type) -> Type:
    if found is None:
        return None
    if isinstance(found, MapShape):
        return found.value
    if isinstance(found, StructureShape):
        if name not in found.members:
            raise QueryProblem(f"{found.name} has no field {name}; it has {', '.join(sorted(found.members))}")
        return found.members[name]
    raise QueryProblem(f"{name} is read from {_text(found)}, which has no fields")


def _item(found: Type) -> Type:
    if found is None:
        return None
    if isinstance(found, ListShape):
        return found.member
    if isinstance(found, _Many):
        return found.item
    raise QueryProblem(f"{_text(found)} is not a list")


def _text(found: Shape | _Many) -> str:
    return "a list" if isinstance(found, _Many | ListShape) else f"{found.name} ({found.type_name})"
