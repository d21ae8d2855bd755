"""Evaluates the CEL expressions of an admission policy: match conditions, variables, validations and messages.

Source: k8s.io/apiserver v0.35.4 pkg/admission/plugin/policy/validating/validator.go, pkg/admission/plugin/cel
(composition.go, activation.go), pkg/admission/plugin/webhook/matchconditions/matcher.go
"""

import re
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from gpuc.cel.program import Converted, Failed, NotEvaluated, Value, compiled, converted
from gpuc.objects.object_set import dig, items
from gpuc.policy.library import VARIABLE

Result = Value | Failed | NotEvaluated
GATEKEEPER_ROOTS = ("object", "oldObject", "request", "namespaceObject", "variables", "authorizer")
"""The variables of the expressions in a ConstraintTemplate."""
NATIVE_ROOTS = (*GATEKEEPER_ROOTS, "params")
"""The variables of the expressions in a ValidatingAdmissionPolicy with parameters."""
_ROOT = re.compile(r"(?<![.\w])(?:object|oldObject|request|namespaceObject|params|authorizer)\b")
_PRESENCE = re.compile(r"\bhas\(\s*variables\s*\.\s*(\w+)\s*\)")
_NO_KEY = re.compile(r'Key not found in map : "(.*)"')
_MESSAGE_MAX = 5 * 1024
"""Kubernetes ignores longer messages. Source: k8s.io/apiserver v0.35.4 pkg/apis/cel/config.go"""


class Validation(NamedTuple):
    """A CEL expression of a policy, which is true for allowed objects, with the message for other objects."""

    expression: str
    message: str = ""
    message_expression: str = ""


class PolicySource(Struct, frozen=True, dict=True):
    """The CEL expressions of one policy: variables, match conditions and validations."""

    variables: Mapping[str, str]
    """Expressions by name. An expression can use the variables that come earlier."""
    conditions: tuple[str, ...]
    """Expressions that must all be true for the policy to apply."""
    validations: tuple[Validation, ...]
    ignores_failures: bool = False
    """Whether the failurePolicy is Ignore: an expression that fails allows the object."""
    roots: tuple[str, ...] = GATEKEEPER_ROOTS

    @cached_property
    def text(self) -> str:
        """All expressions of the policy in one text. Policies with the same expressions have the same text."""
        return repr(self)

    @cached_property
    def order(self) -> dict[str, int]:
        """The position of each variable in the policy, by name."""
        return {name: position for position, name in enumerate(self.variables)}

    @cached_property
    def signatures(self) -> dict[str, tuple[Any, ...] | None]:
        """A key for each variable. Variables of different policies that have the same key also have the same value.

        The key is None if the value of the variable depends on the parameters of the policy.
        """
        return {name: _signature(self.variables, name) for name in self.variables}


class Verdict(NamedTuple):
    """The decision of a policy about an object."""

    outcome: Literal["allowed", "denied", "unknown"]
    message: str = ""
    """The message of the first violated validation, or the reason why the outcome is unknown."""
    is_failure: bool = False
    """Whether the policy denies the object because an expression fails."""


def policy_source(raw: Any, conditions: str, roots: tuple[str, ...]) -> PolicySource:
    """Returns the expressions in the spec of a policy.

    Args:
        raw: the spec, unvalidated.
        conditions: the name of the field with the match conditions.
    """
    return PolicySource(
        {str(dig(row, "name")): _text(row, "expression") for _, row in items(dig(raw, "variables"))},
        tuple(_text(row, "expression") for _, row in items(dig(raw, conditions))),
        tuple(
            Validation(_text(row, "expression"), _text(row, "message"), _text(row, "messageExpression"))
            for _, row in items(dig(raw, "validations"))
        ),
        dig(raw, "failurePolicy") == "Ignore",
        roots,
    )


def _text(row: Any, key: str) -> str:
    value = dig(row, key)
    return value if isinstance(value, str) else ""


class Evaluation:
    """The evaluation of the expressions of one policy for one object. A variable is evaluated when it is first used."""

    def __init__(
        self, source: PolicySource, values: Mapping[str, Any], preset: Mapping[str, Any], shared: dict[Any, Any]
    ) -> None:
        """Prepares the evaluation.

        Args:
            values: object, oldObject, request and so on. A variable without a value is unknown.
            preset: values of `variables` that the engine defines, such as the parameters of a constraint.
            shared: results of variables that do not depend on parameters, and converted values; other policies about
                the same object use them too.
        """
        self._source = source
        self._values = values
        self._preset = preset
        self._results: dict[str, Result] = {name: Value(value) for name, value in preset.items()}
        self._shared = shared
        self._order = source.order

    def applies(self) -> Result:
        """Returns whether all match conditions are true.

        If one condition is false, the result is false, even if other conditions cannot be evaluated. Match conditions
        cannot read the namespace.
        """
        if not self._source.conditions:
            return Value(True)
        without_namespace = Evaluation(self._source, {**self._values, "namespaceObject": None}, self._preset, {})
        results = [without_namespace.evaluate(expression) for expression in self._source.conditions]
        if Value(False) in results:
            return Value(False)
        for kind in (NotEvaluated, Failed):
            for expression, result in zip(self._source.conditions, results, strict=True):
                if isinstance(result, kind):
                    return replace(result, why=_error(expression, result))
        return Value(True)

    def verdict(self) -> Verdict | None:
        """Returns the decision of the policy; None if the match conditions exclude the object."""
        applies = self.applies()
        if isinstance(applies, NotEvaluated):
            return Verdict("unknown", applies.why)
        if isinstance(applies, Failed):
            return None if self._source.ignores_failures else Verdict("denied", applies.why, is_failure=True)
        if applies.value is not True:
            return None
        unknown: Verdict | None = None
        for validation in self._source.validations:
            result = self.evaluate(validation.expression)
            if isinstance(result, NotEvaluated):
                unknown = unknown or Verdict("unknown", result.why)
            elif isinstance(result, Failed) and not self._source.ignores_failures:
                return Verdict("denied", _error(validation.expression, result), is_failure=True)
            elif isinstance(result, Value) and result.value is not True:
                return Verdict("denied", self._message(validation))
        return unknown or Verdict("allowed")

    def evaluate(self, expression: str) -> Result:
        """Returns the result of an expression, which can use all variables of the policy."""
        return self._evaluate(expression, len(self._order))

    def _evaluate(self, expression: str, before: int) -> Result:
        """Evaluates an expression.

        The engine gets no value for a variable that fails or is unknown. If the engine still returns a value for the
        expression, the value does not depend on this variable.

        Args:
            before: the number of variables that the expression can use. The others are declared later.
        """
        roots, names = _references(expression)
        program = compiled(expression, self._source.roots)
        if not names and "params" not in roots and not isinstance(program, NotEvaluated):
            return program.evaluate(self._converted())
        data = {root: self._values[root] for root in roots if root in self._values}
        known: dict[str, Any] = {}
        without_value: dict[str, Failed | NotEvaluated] = {}
        for name in names:
            if name not in self._results and self._order.get(name, before) >= before:
                return Failed(f"undefined field '{name}'")
            result = self._variable(name)
            if isinstance(result, Value):
                known[name] = result.value
            else:
                without_value[name] = result
        if names:
            data["variables"] = known
        if isinstance(program, NotEvaluated):
            return program
        result = program.evaluate(data)
        return _with_cause(expression, result, without_value) if without_value else result

    def _converted(self) -> Converted:
        """Returns the values without params, which all policies about an object share."""
        key = (Converted, self._source.roots)
        if key not in self._shared:
            values = {root: value for root, value in self._values.items() if root != "params"}
            self._shared[key] = converted(values, self._source.roots)
        found: Converted = self._shared[key]
        return found

    def _variable(self, name: str) -> Result:
        if name not in self._results:
            signature = self._source.signatures[name]
            known: dict[Any, Result] = self._results if signature is None else self._shared
            if (key := signature or name) not in known:
                known[key] = self._evaluate(self._source.variables[name], self._order[name])
            self._results[name] = known[key]
        return self._results[name]

    def _message(self, validation: Validation) -> str:
        message = ""
        if validation.message_expression:
            result = self.evaluate(validation.message_expression)
            if isinstance(result, Value) and isinstance(result.value, str):
                message = result.value.strip()
            if "\n" in message or len(message.encode()) > _MESSAGE_MAX:
                message = ""
        return message or validation.message.strip() or f"failed expression: {validation.expression.strip()}"


def _with_cause(expression: str, result: Result, without_value: Mapping[str, Failed | NotEvaluated]) -> Result:
    """Returns the result of an expression that uses variables without a value.

    If the result can depend on an unknown variable, the result is unknown.
    """
    unknown = [variable for variable in without_value.values() if isinstance(variable, NotEvaluated)]
    tested = [name for name in _PRESENCE.findall(expression) if name in without_value]
    if tested:
        return NotEvaluated(f"the expression has(variables.{tested[0]}), whose variable has no value")
    if unknown and not isinstance(result, Value):
        return unknown[0]
    if isinstance(result, Failed):
        for name, variable in without_value.items():
            if f'"{name}"' in result.why:
                return Failed(f'composited variable "{name}" fails to evaluate: {_as_in_kubernetes(variable.why)}')
    return result


def _error(expression: str, result: Failed | NotEvaluated) -> str:
    return f"expression '{expression}' resulted in error: {_as_in_kubernetes(result.why)}"


def _as_in_kubernetes(why: str) -> str:
    """Returns the reason for an error. If a key is missing, the reason is in the words of Kubernetes."""
    return _NO_KEY.sub(r"no such key: \1", why)


@lru_cache(maxsize=8192)
def _references(expression: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the names of the root variables, and of the fields of `variables`, that an expression uses."""
    return tuple(set(_ROOT.findall(expression))), tuple(dict.fromkeys(VARIABLE.findall(expression)))


def _signature(expressions: Mapping[str, str], name: str) -> tuple[Any, ...] | None:
    """Returns the expression of a variable and of all variables that it uses; None if it depends on parameters."""
    roots, names = _references(expressions[name])
    if "params" in roots or "authorizer" in roots:
        return None
    signature: list[Any] = [expressions[name]]
    for used in _used(names, expressions):
        if used not in expressions:
            return None
        signature.append((used, expressions[used]))
        if "params" in _references(expressions[used])[0]:
            return None
    return tuple(signature)


def _used(names: tuple[str, ...], expressions: Mapping[str, str]) -> Iterator[str]:
    """Yields the names of all variables that the named variables use, directly or indirectly."""
    waiting = list(names)
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            yield name
            waiting += _references(expressions.get(name, ""))[1]
