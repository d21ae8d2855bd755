"""The schema checks for `gpuc lint`: fields, values and metadata that the API server drops or refuses."""

from __future__ import annotations

from collections.abc import Iterable

from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet
from gpuc.verify.fields.illegal_metadata import illegal_metadata
from gpuc.verify.fields.missing_field import missing_field
from gpuc.verify.fields.quantity_not_canonical import quantity_not_canonical
from gpuc.verify.fields.unknown_field import unknown_field
from gpuc.verify.fields.unknown_kind import unknown_kind
from gpuc.verify.fields.wrong_value import wrong_value
from gpuc.verify.subject import Subject

UNKNOWN_FIELD, WRONG_VALUE, MISSING_FIELD = unknown_field.rule, wrong_value.rule, missing_field.rule
UNKNOWN_KIND, NOT_CANONICAL = unknown_kind.rule, quantity_not_canonical.rule
_CHECKS = (unknown_field, wrong_value, missing_field, unknown_kind, quantity_not_canonical, illegal_metadata)


def schema_findings(manifests: Iterable[Manifest], kubernetes: str, *, as_written: bool = False) -> list[ObjectFinding]:
    """Returns the findings about fields, values and metadata that the API server would drop or refuse.

    Args:
        kubernetes: the cluster's minor version, for example "1.35".
        as_written: whether people wrote the objects. Then quantities may be numbers, and the namespace may be missing.
    """
    subject = Subject(ObjectSet(manifests, is_complete=False), kubernetes, as_written=as_written)
    return [finding for check in _CHECKS for finding in check.find(subject)]
