"""References between objects: references to missing objects, and objects that nothing refers to.

A module checks one subject and has a function `findings(index)`. gpuc discovers these modules.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.cluster.index import Index
from gpuc.diagnostics.contract import modules
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet
from gpuc.verify.references import missing_key, names

SUBJECTS = (names, missing_key, *(module for module in modules(__name__) if hasattr(module, "findings")))


def findings(objects: ObjectSet) -> Iterator[ObjectFinding]:
    """Yields findings about references to missing objects, and objects that nothing refers to."""
    index = Index(objects)
    for subject in SUBJECTS:
        yield from subject.findings(index)
