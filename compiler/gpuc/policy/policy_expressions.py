"""Checks the CEL expressions of a policy.yaml, and finds the position of each mistake in the file."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from gpuc.cel.type_check import Checked, check_expression
from gpuc.diagnostics.finding import Finding, Path
from gpuc.documents.scalar_text import mark_in_string
from gpuc.policy import rule_of
from gpuc.policy.policy_checks import PARAMETER, unknown_name, validation_expressions
from gpuc.policy.policy_file import GIVEN, PolicyFile
from gpuc.source import Source

EXPRESSION = rule_of("POL007")
UNKNOWN_PARAMETER = rule_of("POL006")
_TYPES = {"expression": "bool", "messageExpression": "string"}
_FIXES = {
    "expression": "; compare the value, for example with == true",
    "messageExpression": "; convert it with string(...)",
}


def check_expressions(policy: PolicyFile, source: Source, text: str, shared: Mapping[str, str]) -> Iterator[Finding]:
    """Yields findings about the CEL expressions of a policy.

    Args:
        text: the text of policy.yaml.
        shared: the variables of the subject: expressions by name.
    """
    types: dict[str, Any] = dict.fromkeys(GIVEN)
    for name, expression in {**shared, **policy.variables}.items():
        checked = check_expression(expression, types)
        types[name] = checked.type
        if name in policy.variables:
            yield from _problems(("variables", name), expression, checked, policy, source, text)
    for path, expression in validation_expressions(policy):
        checked = check_expression(expression, types)
        yield from _problems(path, expression, checked, policy, source, text)
        yield from _wrong_type(path, checked)


def _problems(
    path: Path, expression: str, checked: Checked, policy: PolicyFile, source: Source, text: str
) -> Iterator[Finding]:
    for problem in checked.problems:
        fix = f"replace {problem.name} by {problem.suggestion}" if problem.suggestion else ""
        yield _at(problem.offset, EXPRESSION.at(path, problem.message, fix=fix), expression, source, text)
    for match in PARAMETER.finditer(expression):
        if match[1] not in policy.parameters:
            message = "the policy has no parameter"
            finding = unknown_name(UNKNOWN_PARAMETER, path, message, match[1], policy.parameters)
            yield _at(match.start(1), finding, expression, source, text)


def _wrong_type(path: Path, checked: Checked) -> Iterator[Finding]:
    key = str(path[-1])
    if checked.type_name not in ("", _TYPES[key]):
        message = f"the type of {key} is {checked.type_name}; expected {_TYPES[key]}{_FIXES[key]}"
        yield EXPRESSION.at(path, message)


def _at(offset: int, finding: Finding, expression: str, source: Source, text: str) -> Finding:
    """Returns the finding at a character of the expression.

    If the position in the file is not certain, the finding is at the start of the expression, and the message contains
    the line and column in the expression.
    """
    if mark := mark_in_string(text, source.marks[finding.path], expression, offset):
        return replace(finding, mark=mark)
    line = expression.count("\n", 0, offset) + 1
    column = offset - expression.rfind("\n", 0, offset)
    return replace(finding, message=f"{finding.message} (line {line}, column {column} of the expression)")
