"""What lint could not check, as sentences for the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

_MAX_FILES = 3


@dataclass
class Unchecked:
    """Counters of everything that lint could not check."""

    kinds: Counter[str] = field(default_factory=Counter)
    """Objects by apiVersion and kind, for kinds without a schema."""
    reasons: Counter[str] = field(default_factory=Counter)
    """Objects, documents and fields by the sentence that describes them."""
    documents: Counter[str] = field(default_factory=Counter)
    """Documents by file that are neither objects nor Helm values of a chart that the files install."""

    def sentences(self, *, has_chart: bool, has_crds: bool) -> Iterator[str]:
        """Yields a sentence for each kind of unchecked input.

        Args:
            has_chart: whether the user gave --chart, so that the documents were checked as Helm values.
            has_crds: whether the user gave --crds.
        """
        if self.kinds:
            kinds = ", ".join(_counted(kind, count) for kind, count in sorted(self.kinds.items()))
            hint = (
                "; import the CRDs with `gpuc crds import`, add --crds"
                if self._has_custom_kind and not has_crds
                else ""
            )
            yield f"the fields of kinds for which gpuc has no schema: {kinds}{hint}"
        for reason, count in sorted(self.reasons.items()):
            yield _counted(reason, count)
        if self.documents and not has_chart:
            files = sorted(self.documents, key=lambda file: ("values" not in file, file))
            listed = ", ".join(files[:_MAX_FILES])
            places = f"{len(files)} files, such as {listed}" if len(files) > _MAX_FILES else listed
            yield f"documents that are not Kubernetes objects, in {places}; for Helm values add --chart NAME=VERSION"

    @property
    def _has_custom_kind(self) -> bool:
        """Whether a kind comes from a CustomResourceDefinition, not from Kubernetes itself."""
        groups = [kind.partition("/")[0] for kind in self.kinds]
        return any("." in group and not group.endswith(".k8s.io") for group in groups)


def _counted(text: str, count: int) -> str:
    return text if count == 1 else f"{text} ({count} times)"
