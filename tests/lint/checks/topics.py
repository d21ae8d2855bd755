"""The checks of one topic."""

from collections.abc import Iterator

from gpuc.lint.checks import checks
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet


def findings_of(topic: str, objects: ObjectSet) -> Iterator[ObjectFinding]:
    """The findings of the checks of `gpuc lint` in a folder, for example references."""
    return (
        finding for check in checks() if check.find.__module__.split(".")[-2] == topic for finding in check(objects)
    )


def references(objects: ObjectSet) -> Iterator[ObjectFinding]:
    """The findings about references between objects, except REF086 (tests/verify/test_pod_nodes.py)."""
    return (finding for finding in findings_of("references", objects) if finding.rule.id != "REF086")
