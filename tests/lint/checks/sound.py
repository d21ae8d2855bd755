"""What holds of every flaw, whatever stands in the objects that were judged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gpuc.diagnostics.finding import FAULTS
from gpuc.manifest.manifest import Manifest
from gpuc.objects.flaw import Flaw


def unsound(found: Iterable[Flaw], tree: Iterable[Manifest]) -> list[str]:
    """Flaws that name no object of the tree, no declared fault, a path that is none, or say nothing."""
    known = {id(each) for each in tree}
    return [
        str(flaw)
        for flaw in found
        if id(flaw.manifest) not in known
        or replace(FAULTS[flaw.fault.id], severity=flaw.fault.severity) != flaw.fault
        or not all(isinstance(step, (str, int)) for step in flaw.path)
        or not flaw.message.strip()
        or flaw.message not in flaw.finding().message
    ]
