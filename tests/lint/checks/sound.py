"""Properties that every finding has, whatever the values in the objects are."""

from collections.abc import Iterable

from msgspec.structs import replace

from gpuc.diagnostics.finding import RULES
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding


def unsound(found: Iterable[ObjectFinding], tree: Iterable[Manifest]) -> list[str]:
    """Findings with an unknown object, an undeclared rule, an invalid path or an empty message."""
    known = {id(manifest) for manifest in tree}
    return [
        str(finding)
        for finding in found
        if id(finding.manifest) not in known
        or replace(RULES[finding.rule.id], severity=finding.rule.severity) != finding.rule
        or not all(isinstance(step, (str, int)) for step in finding.path)
        or not finding.message.strip()
        or finding.message not in finding.to_finding().message
    ]
