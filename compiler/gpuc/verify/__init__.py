"""Checks the emitted objects before gpuc writes the files: fields, values, metadata, references, and tenant isolation.

The checks read only the objects and share no code with the emitters. Every check is a function, and a case file with
the same name contains examples. gpuc finds the modules by itself. `gpuc lint` has more checks. The tests run the checks
of `gpuc lint` on the output of the example clusters too.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from gpuc.diagnostics.contract import Checks, Needs
from gpuc.diagnostics.finding import rule_table
from gpuc.objects.object_finding import ObjectFinding

if TYPE_CHECKING:
    from gpuc.manifest.manifest import Artifact
    from gpuc.verify.subject import Subject

Findings = Iterator[ObjectFinding]
CHECKS: "Checks[Subject, ObjectFinding]" = Checks("gpuc.verify")
check = partial(CHECKS.declare, needs=Needs.OBJECTS)
"""Declares a function as the check of a rule. Its docstring is the title, and rules.toml has the reason."""
rule_of = rule_table(__file__)
"""Declares a rule of rules.toml by its id, for a check that decides several rules."""


def verify(artifacts: "Sequence[Artifact]", kubernetes: str, releases: Mapping[str, Any]) -> list[ObjectFinding]:
    """Returns the findings about the emitted objects and Helm values of one cluster.

    Args:
        kubernetes: the cluster's minor version, for example "1.35".
        releases: the version and chart of each component of the cluster, by component.
    """
    from gpuc.manifest.manifest import Values
    from gpuc.objects.object_set import emitted
    from gpuc.verify.subject import Subject

    values = tuple(artifact for artifact in artifacts if isinstance(artifact, Values))
    return findings(Subject(emitted(artifacts), kubernetes, releases, values))


def findings(subject: "Subject") -> list[ObjectFinding]:
    """Runs all checks of the output and returns their findings."""
    return [finding for check in CHECKS.discover() for finding in check(subject)]
