"""Checks CEL expressions of admission policies in the same way as the API server: syntax, names and types.

The API server infers the type of every variable from its expression, and refuses a validation whose type is not bool.
Objects and parameters have the type dyn, so neither the API server nor gpuc checks the types of their fields. gpuc
reports only a type that is certainly wrong.

Source: k8s.io/apiserver v0.35 pkg/admission/plugin/cel/compile.go (BuildRequestType, CompileCELExpression),
composition.go; pkg/cel/environment/base.go; pkg/cel/library/library_compatibility_test.go; cel-go v0.26 ext (strings.go
version 2, sets.go, comprehensions.go)
"""

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from gpuc.cel.functions import declared
from gpuc.diagnostics.spelling import nearest

_KUBERNETES = """
isSorted sum max min indexOf lastIndexOf find findAll url getScheme getHost getHostname getPort getEscapedPath getQuery
isURL path group serviceAccount resource subresource namespace name check allowed reason errored error fieldSelector
labelSelector add asApproximateFloat asInteger compareTo isGreaterThan isInteger isLessThan isQuantity quantity sign sub
ip family isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast isGlobalUnicast isCanonical isIP cidr
containsIP containsCIDR masked prefixLength isCIDR string validate named format semver isSemver major minor patch
sets contains equivalent intersects all exists existsOne transformList transformMap transformMapEntry
"""
"""Functions of Kubernetes and cel-go that the engine may lack, and the names before a dot in their calls."""
_STANDARD = """
bool bytes charAt contains double duration dyn endsWith exists_one filter format getDate getDayOfMonth getDayOfWeek
getDayOfYear getFullYear getHours getMilliseconds getMinutes getMonth getSeconds has hasValue int join lowerAscii map
matches optMap or orValue quote replace size split startsWith substring timestamp trim type uint upperAscii value
"""
"""Functions and macros of the standard library, strings and optional values, for suggestions."""
KUBERNETES_FUNCTIONS = frozenset(_KUBERNETES.split())
_FUNCTIONS = KUBERNETES_FUNCTIONS | frozenset(_STANDARD.split())
_TWO_VARIABLES = frozenset(("all", "exists", "existsOne", "transformList", "transformMap", "transformMapEntry"))
_OWN_NAMES = ("request", "variables")
"""Variables whose fields are declared, but not the variable itself."""
_DYNAMIC = ("object", "oldObject", "namespaceObject", "authorizer")
_ROOTS = (*_DYNAMIC, *_OWN_NAMES)
_REQUEST = {
    "kind": "DYN", "resource": "DYN", "subResource": "STRING", "requestKind": "DYN", "requestResource": "DYN",
    "requestSubResource": "STRING", "name": "STRING", "namespace": "STRING", "operation": "STRING", "userInfo": "DYN",
    "dryRun": "BOOL", "options": "DYN",
}  # fmt: skip
"""The types of the fields of `request`."""
_ERROR = re.compile(
    r"^(?:[A-Z_]+: )?ERROR: <input>:(\d+):(\d+): (.*?)(?: \(in container ''\))?(?: \[[A-Z_]+\])?$", re.MULTILINE
)
_UNDECLARED = re.compile(r"undeclared reference to '([\w.]+)'")
_SYNTAX = "Syntax error: "
_EXPECTING = re.compile(r" expecting (?:\{.*|('.*'|<EOF>))")
_MIXED_NUMBERS = re.compile(r"'_(?:<|<=|>|>=)_' applied to '\((?:int|uint|double), (?:int|uint|double)\)'")
_PRESENCE = re.compile(r"\bhas\(\s*(variables|request)\.(\w+)\s*\)")
"""Tests of fields that are declared as variables of the engine. Each is replaced by true, with the same line breaks."""


class Problem(Struct, frozen=True):
    """A mistake in a CEL expression."""

    offset: int
    """The number of characters before the mistake."""
    message: str
    name: str = ""
    """The variable, field or function that does not exist; empty for other mistakes."""
    suggestion: str = ""
    """The most similar name that exists; empty if there is none."""


class Checked(Struct, frozen=True):
    """The type of a CEL expression, and the mistakes in the expression."""

    problems: tuple[Problem, ...]
    type: Any
    """The type in the engine; None if the type is unknown."""

    @property
    def type_name(self) -> str:
        """The name of the type in CEL, such as bool; empty if the type is unknown."""
        return "" if self.type is None else self.type.name().partition("<")[0].lower()


def check_expression(expression: str, variables: Mapping[str, Any]) -> Checked:
    """Checks a CEL expression. Returns its type and its mistakes.

    Args:
        variables: the types of the fields of `variables` declared before the expression; None for an unknown type.
    """
    read = [(match.start(2), match[2]) for match in _PRESENCE.finditer(expression) if match[1] == "variables"]
    if absent := [_undeclared(offset, name, variables) for offset, name in read if name not in variables]:
        return Checked(tuple(absent), None)
    text = _PRESENCE.sub(lambda match: "true" + re.sub(r"[^\n]", " ", match[0][4:]), expression)
    try:
        return Checked((), _environment(variables).compile(text).return_type())
    except (RuntimeError, ValueError, TypeError) as error:
        report = str(error)
    rows = [(int(row[1]), int(row[2]), row[3]) for row in _ERROR.finditer(report)]
    if not rows:
        return Checked((Problem(0, _plain_message(report.partition("\n")[0])),), None)
    for line, column, message in rows:
        if message.startswith(_SYNTAX):
            return Checked((Problem(_offset(expression, line, column), _plain_message(message)),), None)
    names = {name for *_, message in rows for name in _UNDECLARED.findall(message)}
    if names & _TWO_VARIABLES:
        return Checked((), None)
    found = (_problem(expression, row, variables) for row in rows)
    return Checked(tuple(problem for problem in found if problem), None)


def _environment(variables: Mapping[str, Any]) -> Any:
    from cel_expr_python import cel
    from cel_expr_python.ext.ext_optional import ExtOptional
    from cel_expr_python.ext.ext_strings import ExtStrings

    kind = cel.Type
    types = dict.fromkeys(_DYNAMIC, kind.DYN)
    types |= {f"request.{name}": getattr(kind, type_name) for name, type_name in _REQUEST.items()}
    types |= {f"variables.{name}": kind.DYN if known is None else known for name, known in variables.items()}
    return cel.NewEnv(variables=types, extensions=[ExtStrings(), ExtOptional()], functions=declared(cel))


def _problem(expression: str, row: tuple[int, int, str], variables: Mapping[str, Any]) -> Problem | None:
    """Returns the problem that an error of the engine describes; None if Kubernetes may accept the expression."""
    line, column, message = row
    offset = _offset(expression, line, column)
    undeclared = _UNDECLARED.search(message)
    if undeclared is None:
        return None if _MIXED_NUMBERS.search(message) else Problem(offset, _plain_message(message))
    name = undeclared[1]
    owner, *fields = name.split(".")
    start = _start(expression, owner, offset) if fields else offset
    if fields and owner == "variables":
        return _undeclared(start, fields[0], variables)
    if fields and owner == "request":
        message = f"request has no field {fields[0]}; expected one of {', '.join(_REQUEST)}"
        return Problem(start, message, fields[0], nearest(fields[0], _REQUEST))
    if owner in _OWN_NAMES or name in KUBERNETES_FUNCTIONS:
        return None
    if not fields and expression[offset : offset + 1] == "(":
        suggestion = nearest(name, _FUNCTIONS)
        return Problem(offset - len(name), f"there is no function {name}", name, suggestion)
    message = f"there is no variable {owner}; expected one of {', '.join(_ROOTS)}"
    return Problem(start, message, owner, nearest(owner, _ROOTS))


def _start(expression: str, owner: str, offset: int) -> int:
    """Returns the offset of the first name of a chain of fields.

    The engine reports the position of the last dot, and for has(a.b) the position of the parenthesis.
    """
    before = expression.rfind(owner, 0, offset)
    return expression.find(owner, offset) if expression[offset : offset + 1] == "(" or before < 0 else before


def _undeclared(offset: int, name: str, variables: Mapping[str, Any]) -> Problem:
    return Problem(offset, f"variable {name} is not declared above", name, nearest(name, variables))


def _offset(expression: str, line: int, column: int) -> int:
    """Returns the number of characters before a line and column of an expression, both from 1."""
    lines = expression.split("\n")
    return min(sum(len(text) + 1 for text in lines[: line - 1]) + column - 1, len(expression))


def _plain_message(message: str) -> str:
    """Returns a message of the engine without the list of all symbols that the parser expects."""
    text = _EXPECTING.sub(lambda match: f"; expected {match[1]}" if match[1] else "", message.removeprefix(_SYNTAX))
    return text.replace("mismatched input '<EOF>'", "the expression ends too early").replace("<EOF>", "the end")
