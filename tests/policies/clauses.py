"""Mutations of CEL expressions: remove one operand or one list element."""

import re
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from gpuc.documents.reader import load_yaml
from gpuc.policy.library import Policy
from tests.derive.policies import SOURCES

OPERATOR = re.compile(r"&&|\|\|")
# Guards: operands that only prevent an error in another operand. Their removal changes no result.
GUARD = re.compile(r"!?has\([\w.]+\)|oldObject != null|!variables\.created")
LOOKUP = re.compile(r'("[\w./-]+"|[\w.]+) in ([\w.]+)')
OPENING, CLOSING = "([{", ")]}"
SHARED = load_yaml((SOURCES / "subjects.yaml").read_text(encoding="utf-8"))["pod"]["variables"]
"""The variables of all policies about pods."""


def without_a_clause(expression: str) -> Iterator[str]:
    """Yields the expression without one of its operands, for all operands except guards."""
    for operator in OPERATOR.finditer(_without_texts(expression)):
        neutral = " true " if operator.group() == "&&" else " false "
        left, right = _left(expression, operator.start()), _right(expression, operator.end())
        for start, end in ((left, operator.start()), (operator.end(), right)):
            if not _is_guard(expression[start:end].strip(), expression):
                yield expression[:start] + neutral + expression[end:]


def without_a_part(expression: str) -> Iterator[str]:
    """Yields the expression without one list of a sum of lists, and without one string of a list of strings."""
    for sign in re.finditer(r"\+", _without_texts(expression)):
        left, right = _left(expression, sign.start()), _right(expression, sign.end())
        following = _sign(expression[sign.end() : right])
        yield expression[: sign.start()] + expression[sign.end() + following if following >= 0 else right :]
        if _sign(expression[left : sign.start()]) < 0:
            yield expression[:left] + expression[sign.end() :]
    for texts in re.finditer(r'(?<!\w)\["[^\]]*\]', expression):
        for word in re.finditer(r'"[^"]*"(?:,\s*)?', texts.group()):
            start, end = texts.start() + word.start(), texts.start() + word.end()
            yield re.sub(r",\s*\]", "]", expression[:start] + expression[end:])


def weakened(policy: Policy, without: Callable[[str], Iterator[str]]) -> Iterator[tuple[str, Policy]]:
    """Yields the policy with a mutation of one of its own expressions, with the mutated expression."""
    for name, expression in policy.variables.items():
        for less in without(expression) if name not in SHARED else ():
            yield f"{name}: {less}", with_variable(policy, name, less)
    for index, validation in enumerate(policy.validations):
        for less in without(validation["expression"]):
            validations = [*policy.validations]
            validations[index] = validation | {"expression": less}
            yield less, replace(policy, validations=tuple(validations))


def with_variable(policy: Policy, name: str, expression: str) -> Policy:
    """Returns the policy with another expression for a variable."""
    return replace(policy, variables=policy.variables | {name: expression})


def _without_texts(expression: str) -> str:
    """Returns the expression with spaces for its strings, which can have operators and brackets."""
    return re.sub(r'"[^"]*"', lambda text: " " * len(text.group()), expression)


def _sign(operands: str) -> int:
    """Returns the position of the first plus outside of brackets, or -1."""
    depth = 0
    for at, letter in enumerate(_without_texts(operands)):
        depth += (letter in OPENING) - (letter in CLOSING)
        if letter == "+" and depth == 0:
            return at
    return -1


def _is_guard(operand: str, expression: str) -> bool:
    lookup = LOOKUP.fullmatch(operand)
    return bool(GUARD.fullmatch(operand)) or bool(lookup and f"{lookup[2]}[{lookup[1]}]" in expression)


def _right(text: str, at: int) -> int:
    """Returns the end of the operand that starts here: before an operator, a comma, a ternary or a bracket."""
    depth, quoted = 0, False
    while at < len(text):
        letter = text[at]
        quoted ^= letter == '"'
        if not quoted:
            if depth == 0 and (letter in CLOSING or letter in ",?:" or text[at : at + 2] in ("&&", "||")):
                break
            depth += (letter in OPENING) - (letter in CLOSING)
        at += 1
    return at


def _left(text: str, at: int) -> int:
    """Returns the start of the operand that ends here."""
    depth, quoted = 0, False
    while at > 0:
        letter = text[at - 1]
        quoted ^= letter == '"'
        if not quoted:
            if depth == 0 and (letter in OPENING or letter in ",?:" or text[at - 2 : at] in ("&&", "||")):
                break
            depth += (letter in CLOSING) - (letter in OPENING)
        at -= 1
    return at
