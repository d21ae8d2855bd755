"""Counts the input that lint could not check, and describes this input in sentences for the report."""

from collections import Counter
from collections.abc import Iterator

from msgspec import Struct, field

from gpuc.diagnostics.words import counted

_MAX_FILES = 3
_SPEC_API = "gpuc.dev/"


class Unchecked(Struct):
    """Counters of the objects, fields and documents that lint could not check."""

    kinds: Counter[str] = field(default_factory=Counter)
    """Objects by apiVersion and kind, for kinds without a schema."""
    reasons: Counter[str] = field(default_factory=Counter)
    """The number of objects, documents or fields, by the sentence that describes them."""
    documents: Counter[str] = field(default_factory=Counter)
    """The number of documents that are neither objects nor Helm values of an installed chart, by file."""
    remarks: list[str] = field(default_factory=list)
    """Sentences about the Kustomizations that were built."""
    accepted: int = 0
    """The number of findings that comments accept."""

    def add(self, other: "Unchecked") -> None:
        """Adds the counters of another linted path to these counters."""
        self.kinds += other.kinds
        self.reasons += other.reasons
        self.documents += other.documents
        self.remarks += other.remarks
        self.accepted += other.accepted

    def sentences(self, *, has_chart: bool, has_crds: bool) -> Iterator[str]:
        """Yields the sentences about unchecked input: kinds without a schema, other reasons, and unknown documents.

        Args:
            has_chart: whether the user gave --chart, so that the documents were checked as Helm values.
            has_crds: whether the user gave --crds.
        """
        counts = (*self.kinds.items(), *self.reasons.items())
        specs = sum(count for text, count in counts if text.startswith(_SPEC_API))
        if specs:
            yield f"{counted(specs, 'spec')} of gpuc; `gpuc check` checks specs"
        kinds_without_schema = {kind: count for kind, count in self.kinds.items() if not kind.startswith(_SPEC_API)}
        if kinds_without_schema:
            kinds = ", ".join(with_count(kind, count) for kind, count in sorted(kinds_without_schema.items()))
            groups = (kind.partition("/")[0] for kind in kinds_without_schema)
            wants_crds = not has_crds and any("." in group and not group.endswith(".k8s.io") for group in groups)
            hint = "; import the CRDs with `gpuc crds import`, add --crds" if wants_crds else ""
            yield f"the fields of kinds for which gpuc has no schema: {kinds}{hint}"
        for reason, count in sorted(self.reasons.items()):
            if not reason.startswith(_SPEC_API):
                yield with_count(reason, count)
        if self.documents and not has_chart:
            files = sorted(self.documents, key=lambda file: ("values" not in file, file))
            listed = ", ".join(files[:_MAX_FILES])
            names = f"{len(files)} files, such as {listed}" if len(files) > _MAX_FILES else listed
            yield f"documents that are not Kubernetes objects, in {names}; for Helm values add --chart NAME=VERSION"


def with_count(text: str, count: int) -> str:
    """Returns a text, with the number of its cases if there are several: "patches (3 times)"."""
    return text if count == 1 else f"{text} ({count} times)"
