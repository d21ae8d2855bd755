"""Pydantic models of the keys of policy.yaml. The module docstring of library.py describes the keys."""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from gpuc.spec.base import SpecModel

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
KEYWORDS = frozenset(
    ("as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop",
     "namespace", "null", "package", "return", "true", "var", "void", "while")
)  # fmt: skip
"""Words that are no identifiers in CEL. Source: https://github.com/google/cel-spec/blob/v0.24.0/doc/langdef.md#syntax"""
GIVEN = ("params", "anyObject")
"""The variables that Gatekeeper declares in each policy.

Source: gatekeeper v3.23.0 pkg/drivers/k8scel/schema/schema.go (validateVariables)
"""
_GATEKEEPER = "gatekeeper_internal_"
_GROUP = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?|")
_VERSION = re.compile(r"v\d+((alpha|beta)\d+)?")
_KIND = re.compile(r"[A-Z][A-Za-z0-9]*")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def _one_line(text: str) -> str:
    if _CONTROL.search(text):
        raise ValueError("the text has a line break or a control character; expected one line, for example with >-")
    return text


def _identifier(name: str) -> str:
    if not _IDENTIFIER.fullmatch(name) or name in KEYWORDS:
        raise ValueError(f"{name} is no name in CEL; expected letters, digits and underscores, and no reserved word")
    return name


def _variable(name: str) -> str:
    if name in GIVEN or name.startswith(_GATEKEEPER):
        choices = f"expected another name than {' and '.join(GIVEN)}, without the prefix {_GATEKEEPER}"
        raise ValueError(f"{name} is a name of Gatekeeper; {choices}")
    return _identifier(name)


def _group(name: str) -> str:
    if _VERSION.fullmatch(name) or not _GROUP.fullmatch(name):
        raise ValueError(f'{name} is no API group; expected a group such as apps or batch, or "" for the kind Pod')
    return name


def _kind(name: str) -> str:
    if not _KIND.fullmatch(name):
        raise ValueError(f"{name} is no kind; expected a kind such as Pod, without wildcards")
    return name


def _pattern(text: str) -> str:
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(text, options)
    except re2.error as error:
        reason = error.args[0].decode() if isinstance(error.args[0], bytes) else error
        raise ValueError(f"{text} is no regular expression of RE2: {reason}") from None
    return text


Text = Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(_one_line)]
Identifier = Annotated[str, AfterValidator(_identifier)]
Variable = Annotated[str, AfterValidator(_variable)]
Expression = Annotated[str, Field(min_length=1)]


class Schema(SpecModel):
    """A structural OpenAPI v3 schema for the value of a parameter or setting of a policy.

    Source: k8s.io/apiextensions-apiserver v0.35 pkg/apiserver/schema/validation.go,
    pkg/apis/apiextensions/validation/validation.go
    """

    type: Literal["object", "array", "string", "integer", "number", "boolean"]
    description: str = ""
    format: str = ""
    pattern: Annotated[str, AfterValidator(_pattern)] = ""
    enum: Annotated[list[Any], Field(min_length=1)] | None = None
    default: Any = None
    nullable: bool = False
    minimum: float | int | None = None
    maximum: float | int | None = None
    multiple_of: float | int | None = None
    min_length: int = 0
    max_length: int | None = None
    items: "Schema | None" = None
    min_items: int = 0
    max_items: int | None = None
    properties: "dict[str, Schema]" = {}
    required: list[str] = []
    additional_properties: "Schema | bool | None" = None
    min_properties: int = 0
    max_properties: int | None = None

    @model_validator(mode="after")
    def _is_structural(self) -> "Schema":
        if self.type == "array" and self.items is None:
            raise ValueError("items is missing; expected the schema of the elements of the array")
        if self.additional_properties is False:
            raise ValueError("additionalProperties is false; expected a schema, because the API server refuses false")
        if self.properties and self.additional_properties is not None:
            raise ValueError("additionalProperties and properties exclude each other; expected one of them")
        return self


class Kinds(SpecModel):
    """The kinds of objects that a policy checks."""

    api_groups: Annotated[list[Annotated[str, AfterValidator(_group)]], Field(min_length=1)]
    kinds: Annotated[list[Annotated[str, AfterValidator(_kind)]], Field(min_length=1)]


class ValidationEntry(SpecModel):
    """A CEL expression that is true for allowed objects, and the message about objects for which it is false."""

    expression: Expression
    message: Text | None = None
    message_expression: Expression | None = None

    @model_validator(mode="after")
    def _has_message(self) -> "ValidationEntry":
        if self.message is None and self.message_expression is None:
            raise ValueError("message and messageExpression are missing; expected one of them")
        return self


class ParameterEntry(SpecModel):
    """A parameter of the constraints of a policy: the source of its value, and its schema."""

    fact: Annotated[str, Field(alias="from")]
    value_schema: Annotated[Schema, Field(alias="schema")]


class Violation(SpecModel):
    """An example of denied.yaml that `gpuc rehearse` creates to test the policy."""

    example: str
    pod_security: Literal["baseline"] | None = None


class PolicyFile(SpecModel):
    """The content of a policy.yaml."""

    title: Text
    why: Text
    subject: str | None = None
    kinds: Annotated[list[Kinds] | None, Field(min_length=1)] = None
    variables: dict[Variable, Expression] = {}
    validations: Annotated[list[ValidationEntry], Field(min_length=1)]
    parameters: dict[Identifier, ParameterEntry] = {}
    settings: dict[Identifier, Schema] = {}
    sample: dict[str, Any] = {}
    violations: list[Violation] = []

    @model_validator(mode="after")
    def _selects_kinds(self) -> "PolicyFile":
        if self.subject is None and self.kinds is None:
            raise ValueError("kinds and subject are missing; expected one of them")
        return self
