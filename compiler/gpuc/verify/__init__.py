"""Checks of what a compile emits, before it is written: fields, values, metadata, names, and the isolation of tenants.

They read nothing but the objects, and share no code with the emitters. Each is one module with its case file beside
it, discovered and never listed. What else can be wrong among objects is a matter of `gpuc lint`; the tests run all of
its checks over the output of the examples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gpuc.diagnostics.contract import Checks

if TYPE_CHECKING:
    from gpuc.manifest.manifest import Artifact
    from gpuc.objects.object_finding import ObjectFinding
    from gpuc.verify.subject import Subject

CHECKS: Checks[Subject, ObjectFinding] = Checks("gpuc.verify")
check = CHECKS.declare
"""Makes a function the check of a fault: its docstring is the title, and below that the reason."""


def verify(artifacts: Sequence[Artifact], kubernetes: str, releases: Mapping[str, Any]) -> list[ObjectFinding]:
    """What is wrong with the emitted objects and values of one cluster.

    Args:
        kubernetes: the cluster's minor version, for example "1.35".
        releases: the cluster's releases by component.
    """
    from gpuc.manifest.manifest import Values
    from gpuc.objects.object_set import emitted
    from gpuc.verify.subject import Subject

    values = tuple(artifact for artifact in artifacts if isinstance(artifact, Values))
    return findings(Subject(emitted(artifacts), kubernetes, releases, values))


def findings(subject: Subject) -> list[ObjectFinding]:
    """What every check finds, then what opens a tenant to another."""
    from gpuc import isolation

    found = [finding for check in CHECKS.discover() for finding in check.find(subject)]
    return [*found, *isolation.findings(subject.tree)]
