"""All objects that paths mean, for commands whose answer is one sentence: what could not be read makes it unsure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from gpuc.diagnostics.finding import Finding, Mark, Path
from gpuc.lint.load.files import UnreadableError, files_below, text_of
from gpuc.lint.load.objects import Reading
from gpuc.lint.load.places import Places
from gpuc.lint.load.text import DUPLICATE_KEY
from gpuc.manifest.manifest import Manifest

_TOLD = 10


@dataclass
class Gathered:
    """Objects, where they stand, and what is missing among them."""

    manifests: list[Manifest] = field(default_factory=list)
    places: Places = field(default_factory=Places)
    missing: list[str] = field(default_factory=list)
    """What stands in the files and could not be read, a sentence each."""
    others: list[str] = field(default_factory=list)
    """What is no object, or none yet: templates, patches, documents that are no maps."""

    def locate(self, manifest: Manifest, path: Path) -> Mark | None:
        """Where a value of one of the objects stands."""
        index, *prefix = manifest.origin
        return self.places.mark(manifest.file, index, (*prefix, *path)) if isinstance(index, int) else None

    @property
    def told(self) -> Iterator[str]:
        """The first of what is missing, and how many more there are."""
        yield from self.missing[:_TOLD]
        if len(self.missing) > _TOLD:
            yield f"and {len(self.missing) - _TOLD} more places that could not be read"


def gather(paths: Iterable[str]) -> Gathered:
    """Reads every file below the paths, whatever stands in it.

    Raises:
        UsageError: when there is nothing at a path.
    """
    gathered, reading = Gathered(), Reading()
    for file in dict.fromkeys(file for path in paths for file in files_below(path)):
        try:
            text = text_of(file)
        except UnreadableError as error:
            gathered.missing.append(f"{file} cannot be read: {error}; it is left out")
            continue
        gathered.places.add(file, text)
        reading.add(file, text)
    reading.settle()
    gathered.manifests = reading.manifests
    gathered.missing += [_sentence(each) for each in reading.findings]
    for each in reading.nameless:
        mark = gathered.places.mark(each.file, each.index, each.path)
        gathered.missing.append(f"{mark}: {each.message}; it is left out")
    gathered.others = [what if count == 1 else f"{what} ({count} times)" for what, count in reading.others.items()]
    return gathered


def _sentence(finding: Finding) -> str:
    what = "the last one is taken" if finding.id == DUPLICATE_KEY.id else "what stands there is left out"
    return f"{finding.mark}: {finding.message}; {what}"
