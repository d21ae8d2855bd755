"""CEL evaluated by cel-expr-python, Google's engine in C++."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from gpuc.lint.crds.answers import REFUSED, Answer, Told, first_line
from gpuc.lint.crds.functions import NAMED, by_name, checked, functions


class CppEngine:
    """An Engine."""

    name = "cel-expr-python"
    _FAILURES = (
        "NOT_FOUND", "Index error", "cannot convert", "divide by zero", "modulus by zero", "integer overflow",
        "conversion failed", "out of int64 range", "out of uint64 range", "index out of range: ",
        "is greater than <string>.size()", "is less than <start>", "is less than 0", "optional.none() dereference",
        REFUSED,
    )  # fmt: skip

    def __init__(self, cel: Any, extensions: list[Any]) -> None:
        self._environment = cel.NewEnv(
            variables={"self": cel.Type.DYN}, extensions=extensions, functions=_declared(cel)
        )
        self._compiled: dict[tuple[str, bool], Any] = {}

    def refusal(self, expression: str, *, is_optional: bool) -> str:
        compiled = self._program(expression, is_optional)
        return compiled if isinstance(compiled, str) else ""

    def names(self, expression: str) -> set[str] | None:
        return None

    def _program(self, expression: str, is_optional: bool) -> Any:
        """The compiled expression; a text that says why there is none."""
        key = expression, is_optional
        if key not in self._compiled:
            text = f"cel.bind(oldSelf, optional.none(), {expression}\n)" if is_optional else expression
            try:
                self._compiled[key] = self._environment.compile(text)
            except (RuntimeError, ValueError, TypeError) as error:
                self._compiled[key] = first_line(error) or "it is not compiled"
        return self._compiled[key]

    def bound(self, value: Any) -> Any:
        try:
            return self._environment.Activation(data={"self": _without_times(value)})
        except (RuntimeError, ValueError, TypeError, OverflowError) as error:
            raise ValueError(first_line(error)) from error

    def ask(self, expression: str, bound: Any, *, is_optional: bool) -> Answer:
        compiled = self._program(expression, is_optional)
        if isinstance(compiled, str):
            return Answer(Told.CANNOT, why=compiled)
        try:
            result = compiled.eval(bound)
        except (RuntimeError, ValueError, TypeError, OverflowError) as error:
            return self._failed(first_line(error))
        kind = result.type().name()
        if kind not in ("BOOL", "STRING", "ERROR"):  # plain_value() of null takes a reference too many from None
            return Answer(Told.CANNOT, why=f"it gives a {kind}")
        told = result.plain_value()
        return self._failed(first_line(told)) if kind == "ERROR" else Answer(Told.VALUE, told)

    def _failed(self, why: str) -> Answer:
        is_of_object = any(word in why for word in self._FAILURES)
        return Answer(Told.FAILED if is_of_object else Told.CANNOT, why=why)


def _without_times(value: Any) -> Any:
    """The value for an engine that takes neither points nor spans of time: equal ones stay equal, the rest fails."""
    if isinstance(value, dict):
        return {key: _without_times(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_without_times(each) for each in value]
    if isinstance(value, datetime):
        return {"time": value.timestamp()}
    if isinstance(value, timedelta):
        return {"span": value.total_seconds()}
    return value


def _declared(cel: Any) -> list[Any]:
    """The functions for the engine in C++, which chooses an overload by its types."""
    kind = cel.Type
    types = {
        "string": kind.STRING, "int": kind.INT, "bool": kind.BOOL, "double": kind.DOUBLE, "dyn": kind.DYN,
        "list": kind.List(kind.DYN), "strings": kind.List(kind.STRING),
        "query": kind.Map(kind.STRING, kind.List(kind.STRING)),
        **dict.fromkeys(NAMED, kind.Map(kind.STRING, kind.STRING)),
    }  # fmt: skip
    return [
        cel.FunctionDecl(
            name,
            [
                cel.Overload(
                    f"gpuc_{name}_{'_'.join(each.takes)}".replace(".", "_"),
                    return_type=types[each.gives],
                    parameters=[types[one] for one in each.takes],
                    is_member=each.is_member,
                    impl=checked([each]),
                )
                for each in overloads
            ],
        )
        for name, overloads in by_name(functions()).items()
    ]
