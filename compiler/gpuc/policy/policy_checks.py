"""Checks a policy.yaml whose keys and types are correct: names, schemas, the sample, and unused definitions."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from gpuc.diagnostics.finding import Finding, Path, Rule
from gpuc.diagnostics.spelling import nearest
from gpuc.policy import rule_of
from gpuc.policy.facts import FACTS, SETTINGS
from gpuc.policy.library import VARIABLE
from gpuc.policy.policy_file import PolicyFile
from gpuc.source import Source
from gpuc.spec.rules import VALUE

FACT = rule_of("POL004")
SAMPLE = rule_of("POL005")
UNUSED = rule_of("POL106")
_SPEC_KEYS = ("accept", "stage")
"""Keys that every policy has in the spec."""
PARAMETER = re.compile(r"\bvariables\s*\.\s*params\s*\.\s*(\w+)")


def validation_expressions(policy: PolicyFile) -> Iterator[tuple[Path, str]]:
    """Yields the path and the text of each CEL expression in the validations of a policy."""
    for index, entry in enumerate(policy.validations):
        yield ("validations", index, "expression"), entry.expression
        if entry.message_expression is not None:
            yield ("validations", index, "messageExpression"), entry.message_expression


def check_definitions(
    policy: PolicyFile, source: Source, subjects: dict[str, Any], denied: Iterable[str]
) -> Iterator[Finding]:
    """Yields findings about mistakes in the definitions of a policy.yaml, for example unknown names.

    Args:
        subjects: the subjects of subjects.yaml by name.
        denied: the names of the denied examples that create an object.
    """
    if policy.subject is not None and policy.subject not in subjects:
        yield unknown_name(VALUE, ("subject",), "there is no subject", policy.subject, subjects)
    yield from _facts(policy)
    yield from _settings(policy, source)
    yield from _sample(policy, source)
    names = list(denied)
    for index, row in enumerate(policy.violations):
        if row.example not in names:
            path = ("violations", index, "example")
            yield unknown_name(VALUE, path, "there is no denied example", row.example, names)


def check_use(policy: PolicyFile, shared: Mapping[str, str]) -> Iterator[Finding]:
    """Yields findings about definitions in a policy.yaml that nothing uses.

    Args:
        shared: the variables of the subject: expressions by name.
    """
    own = [*policy.variables.values(), *(text for _, text in validation_expressions(policy))]
    text = "\n".join([*shared.values(), *own])
    read = set(VARIABLE.findall(text))
    for name in policy.variables:
        if name not in read:
            yield _unused(("variables", name), f"no expression reads variable {name}")
    for name in policy.parameters:
        if name not in PARAMETER.findall(text) and not re.search(r"\bvariables\.params\b(?!\s*\.)", text):
            yield _unused(("parameters", name), f"no expression reads parameter {name}")
    facts = {entry.fact for entry in policy.parameters.values()}
    for name in policy.settings if facts <= set(_known_facts(policy)) else ():
        if SETTINGS + name not in facts:
            yield _unused(("settings", name), f"no parameter has the setting as its value: from: {SETTINGS}{name}")


def _unused(path: Path, message: str) -> Finding:
    return UNUSED.at(path, message, on_key=True)


def unknown_name(rule: Rule, path: Path, message: str, name: str, known: Collection[str]) -> Finding:
    """Returns the finding about an unknown name, with the known names and the most similar known name."""
    suggestion = nearest(name, known)
    fix = f"replace {name} by {suggestion}" if suggestion else ""
    return rule.at(path, f"{message} {name}; {_expected(known)}", fix=fix)


def _expected(names: Collection[str]) -> str:
    return f"expected one of {', '.join(names)}" if names else "expected none"


def _known_facts(policy: PolicyFile) -> list[str]:
    return [*FACTS, *(SETTINGS + name for name in policy.settings)]


def _facts(policy: PolicyFile) -> Iterator[Finding]:
    known = _known_facts(policy)
    for name, entry in policy.parameters.items():
        if entry.fact not in known:
            yield unknown_name(FACT, ("parameters", name, "from"), "there is no fact", entry.fact, known)


def _settings(policy: PolicyFile, source: Source) -> Iterator[Finding]:
    for name in policy.settings:
        if name in _SPEC_KEYS:
            message = f"the setting {name} has the name of a key of every policy in the spec; expected another name"
            yield VALUE.at(("settings", name), message, on_key=True)
        if error := schema_error(source.tree["settings"][name]):
            yield VALUE.at(("settings", name), f"the schema is invalid: {error}")


def _sample(policy: PolicyFile, source: Source) -> Iterator[Finding]:
    for name in policy.sample:
        if name not in policy.parameters:
            message = f"there is no parameter {name}; {_expected(policy.parameters)}"
            yield SAMPLE.at(("sample", name), message, on_key=True)
    missing = [name for name in policy.parameters if name not in policy.sample]
    if missing:
        path: Path = ("sample",) if "sample" in source.tree else ("parameters", missing[0])
        yield SAMPLE.at(path, f"sample lacks values for parameters: {', '.join(missing)}", on_key=True)
    for name in policy.parameters:
        schema = source.tree["parameters"][name]["schema"]
        if error := schema_error(schema):
            yield VALUE.at(("parameters", name, "schema"), f"the schema is invalid: {error}")
        elif name in policy.sample:
            yield from (SAMPLE.at(("sample", name, *path), text) for path, text in _violations(schema, policy, name))


def _violations(schema: dict[str, Any], policy: PolicyFile, name: str) -> Iterator[tuple[Path, str]]:
    import jsonschema_rs

    for error in jsonschema_rs.validator_for(schema).iter_errors(policy.sample[name]):
        yield tuple(error.instance_path), f"the sample of parameter {name} is invalid: {error.message}"


def schema_error(schema: dict[str, Any]) -> str:
    """Returns why a JSON Schema is invalid; an empty text for a valid schema."""
    import jsonschema_rs

    try:
        jsonschema_rs.validator_for(schema)
    except (jsonschema_rs.ValidationError, ValueError) as error:
        return str(error).partition("\n")[0]
    return ""
