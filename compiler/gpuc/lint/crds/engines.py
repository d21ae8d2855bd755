"""Two engines that evaluate CEL: what one says of a rule is believed where the other says it too.

cel-expr-python is Google's engine in C++, common-expression-language an engine in Rust; they share no code. The
functions that Kubernetes adds to CEL are the same ones in both (own_functions.py).
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, Protocol

from gpuc.lint.crds.answers import Answer


class Engine(Protocol):
    """One way to evaluate CEL."""

    name: str

    def refusal(self, expression: str, *, is_optional: bool) -> str:
        """Why an expression cannot be evaluated, whatever the object is; empty where it can."""

    def names(self, expression: str) -> set[str] | None:
        """The variables of an expression; None where that is not known."""

    def bound(self, value: Any) -> Any:
        """What `ask` takes for `self`.

        Raises:
            ValueError: when the engine cannot have such a value.
        """

    def ask(self, expression: str, bound: Any, *, is_optional: bool) -> Answer:
        """What an expression comes to; with is_optional it may ask for oldSelf, which is none."""


@cache
def engines() -> tuple[Engine, ...]:
    """Both engines; none where one of them is not installed."""
    from gpuc.lint.crds.cpp import CppEngine
    from gpuc.lint.crds.rust import RustEngine

    try:
        cel = import_module("cel_expr_python.cel")
        parts = ("strings", "optional", "bindings")
        extensions = [
            getattr(import_module(f"cel_expr_python.ext.ext_{name}"), f"Ext{name.title()}")() for name in parts
        ]
        return CppEngine(cel, extensions), RustEngine(import_module("cel"))
    except (ImportError, AttributeError):
        return ()
