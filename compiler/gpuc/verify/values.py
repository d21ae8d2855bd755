"""Every value of a Helm chart against the keys that the pinned chart reads."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from gpuc.catalog.schemas import DERIVE, chart, kueue_configuration
from gpuc.diagnostics.finding import Finding, Severity, fault
from gpuc.manifest.manifest import Values
from gpuc.objects.flaw import place
from gpuc.verify.mismatch import Fit, Mismatch, mismatches, validator
from gpuc.verify.null_fields import null_fields

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

UNKNOWN_KEY = fault(
    "VAL001",
    Severity.ERROR,
    "A Helm values file has a key that the pinned chart does not read.",
    "Helm ignores it silently: the setting has no effect.",
)
WRONG_TYPE = fault(
    "VAL002",
    Severity.ERROR,
    "A Helm value has another type, range or word than the pinned chart takes.",
    "The chart renders something else than meant, or fails to render.",
)
NULL_FIELD = fault(
    "VAL004",
    Severity.ERROR,
    "A chart renders an empty Helm value as a null in an object of a custom kind.",
    "A server-side apply refuses the object, and the sync of its Application fails.",
    "argoproj/argo-cd v3.5.1 docs/user-guide/sync-options.md (Server-Side Apply); compiler/gpuc/catalog/nulls.json",
)
_CONFIGURATION = ("managerConfig", "controllerManagerConfigYaml")


def verify_values(values: Sequence[Values], releases: Mapping[str, Any]) -> list[Finding]:
    """All keys and values that the charts do not take, in the order of the files.

    Args:
        releases: the cluster's releases by component; values of a component that it lacks are a finding.
    """
    return [finding for item in values for finding in _of(item, releases)]


def _of(values: Values, releases: Mapping[str, Any]) -> Iterator[Finding]:
    schema = chart(values.component)
    if schema is None or values.component not in releases:
        known = ", ".join(sorted(releases))
        reason = f"is not among the releases: {known}" if schema else f"has no schema of its values: {DERIVE}"
        yield UNKNOWN_KEY.at(values.origin, f'{values.file}: chart "{values.component}" {reason}')
        return
    faulty = set()
    for item in mismatches(_compiled(values.component), values.body, schema):
        faulty.add(item.path)
        yield _finding(values, item)
    for path, message in null_fields(values.component, values.body):
        if path not in faulty:
            yield NULL_FIELD.at(values.origin, f"{values.file}: {place(path)}: {message}")
    if values.component == "kueue":
        yield from (_finding(values, item) for item in _configuration(values))


def _configuration(values: Values) -> Iterator[Mismatch]:
    """The text that holds Kueue's whole configuration: the chart passes it on unread."""
    text = values.body.get(_CONFIGURATION[0], {}).get(_CONFIGURATION[1])
    if not isinstance(text, str):
        return
    try:
        document = values.embedded[text] if text in values.embedded else _parsed(text)
    except ValueError as error:
        yield Mismatch(Fit.VALUE, _CONFIGURATION, f"not YAML: {error}")
        return
    for item in mismatches(_configuration_validator(), document, kueue_configuration()):
        yield item.under(*_CONFIGURATION)


def _parsed(text: str) -> Any:
    """The document of a YAML text.

    Raises:
        ValueError: when it is none.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        return YAML(typ="safe", pure=True).load(io.StringIO(text))
    except YAMLError as error:
        raise ValueError(str(error).splitlines()[0]) from error


@cache
def _compiled(component: str) -> Draft202012Validator:
    schema = chart(component)
    assert schema is not None
    return validator(schema)


@cache
def _configuration_validator() -> Draft202012Validator:
    return validator(kueue_configuration())


def _finding(values: Values, item: Mismatch) -> Finding:
    kind = UNKNOWN_KEY if item.fit is Fit.UNKNOWN else WRONG_TYPE
    return kind.at(values.origin, f"{values.file}: {place(item.path) or 'the file'}: {item.message}", fix=item.fix)
