from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpuc.catalog.schemas import DERIVE, chart
from gpuc.objects.flaw import Flaw
from gpuc.verify import check
from gpuc.verify.mismatch import Fit

if TYPE_CHECKING:
    from gpuc.verify.subject import Subject


@check("VAL001")
def unknown_key(subject: Subject) -> Iterator[Flaw]:
    """A Helm values file has a key that the pinned chart does not read.

    Helm ignores it silently: the setting has no effect.
    """
    for values in subject.values:
        if chart(values.component) is None:
            text = f'chart "{values.component}" has no schema of its values: {DERIVE}'
            yield Flaw(unknown_key.fault, values.manifest, (), text)
        elif values.component not in subject.releases:
            known = ", ".join(sorted(subject.releases))
            text = f'chart "{values.component}" is not among the releases: {known}'
            yield Flaw(unknown_key.fault, values.manifest, (), text)
    for values, item in subject.value_mismatches(Fit.UNKNOWN):
        yield Flaw(unknown_key.fault, values.manifest, item.path, item.message, item.fix, on_key=True)
