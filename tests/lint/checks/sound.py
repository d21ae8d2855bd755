"""What holds of every finding, whatever stands in the objects that were judged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gpuc.diagnostics.finding import RULES
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding


def unsound(found: Iterable[ObjectFinding], tree: Iterable[Manifest]) -> list[str]:
    """ObjectFindings that name no object of the tree, no declared fault, a path that is none, or say nothing."""
    known = {id(each) for each in tree}
    return [
        str(finding)
        for finding in found
        if id(finding.manifest) not in known
        or replace(RULES[finding.rule.id], severity=finding.rule.severity) != finding.rule
        or not all(isinstance(step, (str, int)) for step in finding.path)
        or not finding.message.strip()
        or finding.message not in finding.to_finding().message
    ]
