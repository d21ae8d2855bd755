"""Finds Helm values that a chart does not accept, and Helm values that leave pods of a chart without a node."""

from collections.abc import Iterator
from typing import Any

from gpuc.catalog import load
from gpuc.catalog.records import NullField
from gpuc.catalog.schemas import DERIVE, chart
from gpuc.catalog.schemas.schema_errors import ErrorKind
from gpuc.diagnostics.finding import Path
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import dig
from gpuc.objects.selectors import node_terms, tolerations
from gpuc.verify import Findings, check
from gpuc.verify.pod_nodes import needed_nodes, refusal
from gpuc.verify.subject import Subject


@check("VAL001")
def unknown_key(subject: Subject) -> Findings:
    """A Helm values file has a key that the pinned chart does not read."""
    for values in (values for values in subject.values if values.has_schema):
        if chart(values.component) is None:
            text = f'chart "{values.component}" has no schema for its values: {DERIVE}'
            yield ObjectFinding(unknown_key.rule, values.manifest, (), text)
        elif values.component not in subject.releases:
            known = ", ".join(sorted(subject.releases))
            text = f'chart "{values.component}" is not among the releases of the cluster: {known}'
            yield ObjectFinding(unknown_key.rule, values.manifest, (), text)
    for values, item in subject.value_errors(ErrorKind.UNKNOWN):
        yield ObjectFinding(unknown_key.rule, values.manifest, item.path, item.message, item.fix, on_key=True)


@check("VAL002")
def wrong_type(subject: Subject) -> Findings:
    """A Helm value has a type or a value that the pinned chart does not accept."""
    for values, item in subject.value_errors(ErrorKind.VALUE, ErrorKind.MISSING, ErrorKind.QUANTITY):
        yield ObjectFinding(wrong_type.rule, values.manifest, item.path, item.message, item.fix)


@check("VAL004")
def null_field(subject: Subject) -> Findings:
    """A chart renders an empty Helm value as null in a custom resource."""
    for values in subject.values:
        reported = {error.path for other, error in subject.value_errors(*ErrorKind) if other is values}
        for path, message in null_fields(values.component, values.body):
            if path not in reported:
                yield ObjectFinding(null_field.rule, values.manifest, path, message)


@check("VAL006")
def no_node(subject: Subject) -> Findings:
    """Because of the Helm values of a component, some nodes that need its pods do not accept the pods."""
    pods = [(values, *item) for values in subject.values for item in values.pods.items()]
    for values, path, runs_on in pods if subject.index.nodes.pools else ():
        pod = dig(values.body, *path)
        for group in needed_nodes(subject.index, runs_on):
            if reason := refusal([group], node_terms(pod), tolerations(dig(pod, "tolerations"))):
                at = (*path, reason.field(pod))
                yield ObjectFinding(no_node.rule, values.manifest, at, reason.message, reason.fix)


def null_fields(component: str, values: Any) -> Iterator[tuple[Path, str]]:
    """Yields the path of every empty Helm value that a chart renders as a null, with a message about the null.

    A missing value is no error: the chart uses its default value, which renders no null.

    Args:
        component: the name of the component in gpuc, for example kueue.
    """
    for row in load().null_fields.get(component, ()):
        *above, key = row.value.split(".")
        parent = dig(values, *above)
        is_empty = isinstance(parent, dict) and key in parent and parent[key] in (None, "", {}, [])
        if is_empty and _is_rendered(row, values):
            yield (*above, key), f"the value is empty, so the chart renders {row.kind} with a null at {row.field}"


def _is_rendered(row: NullField, values: Any) -> bool:
    """Returns whether the chart renders the object with the field."""
    if not row.object_if:
        return True
    switch = dig(values, *row.object_if.split("."))
    return row.object_default if switch is None else switch is True
