"""CEL evaluated by common-expression-language, an engine in Rust."""

from __future__ import annotations

import logging
import re
from typing import Any

from gpuc.lint.crds.answers import REFUSED, Answer, Told, first_line
from gpuc.lint.crds.functions import by_name, checked, functions, string_functions


class RustEngine:
    """An Engine."""

    name = "common-expression-language"
    _FAILURES = (KeyError, IndexError, ZeroDivisionError, OverflowError)
    _CONVERSION = re.compile(r"Function '(int|uint|double|duration|timestamp|value)' error: ")
    _BUILT_IN = frozenset(
        (
            "contains", "size", "startsWith", "endsWith", "matches", "int", "uint", "double", "string", "bytes",
            "duration", "timestamp", "type", "dyn", "none", "of", "ofNonZeroValue", "or", "orValue", "value",
            "hasValue", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getFullYear", "getMonth",
            "getHours", "getMinutes", "getSeconds", "getMilliseconds", "in",
        )
    )  # fmt: skip

    def __init__(self, cel: Any) -> None:
        self._cel = cel
        self._functions = {
            name: checked(overloads) for name, overloads in by_name([*functions(), *string_functions()]).items()
        }
        self._known = self._BUILT_IN | {name.rpartition(".")[2] for name in self._functions}
        self._compiled: dict[str, Any] = {}
        log = logging.getLogger("cel")  # it prints every error of a function, which is an answer here
        log.addHandler(logging.NullHandler())
        log.propagate = False

    def refusal(self, expression: str, *, is_optional: bool) -> str:
        compiled = self._program(expression)
        return compiled if isinstance(compiled, str) else ""

    def _program(self, expression: str) -> Any:
        """The compiled expression; a text that says why there is none: a function is else missed only when called."""
        if expression not in self._compiled:
            try:
                program = self._cel.compile(expression)
            except BaseException as error:
                program = first_line(_harmless(error)).rpartition("ERROR: ")[2] or "it is not compiled"
            else:
                named = [name for name in program.functions() if name[:1].isalpha() and name not in self._known]
                if named:
                    program = f"it has no function {named[0]}"
            self._compiled[expression] = program
        return self._compiled[expression]

    def names(self, expression: str) -> set[str] | None:
        """The variables of an expression; None where it cannot be read."""
        program = self._program(expression)
        return None if isinstance(program, str) else set(program.variables())

    def bound(self, value: Any) -> Any:
        try:
            return self._cel.Context({"self": value, "oldSelf": self._cel.OptionalValue.none()}, self._functions)
        except BaseException as error:
            raise ValueError(first_line(_harmless(error))) from error

    def ask(self, expression: str, bound: Any, *, is_optional: bool) -> Answer:
        compiled = self._program(expression)
        if isinstance(compiled, str):
            return Answer(Told.CANNOT, why=compiled)
        try:
            told = compiled.execute(bound)
        except BaseException as error:
            return self._failed(_harmless(error))
        if isinstance(told, (bool, str)):
            return Answer(Told.VALUE, told)
        return Answer(Told.CANNOT, why=f"it gives a {type(told).__name__}")

    def _failed(self, error: BaseException) -> Answer:
        why = first_line(error)
        is_of_object = isinstance(error, self._FAILURES) or REFUSED in why or self._CONVERSION.match(why)
        missing = f"no such key: {why}" if isinstance(error, KeyError) else why
        return Answer(Told.FAILED if is_of_object else Told.CANNOT, why=missing)


def _harmless(error: BaseException) -> BaseException:
    """An error that is an answer: a panic of the engine is no Exception.

    Raises:
        BaseException: what was given, when it asks to stop.
    """
    if isinstance(error, (KeyboardInterrupt, SystemExit, MemoryError)):
        raise error
    return error
