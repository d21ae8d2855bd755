from __future__ import annotations

from collections.abc import Sequence

from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.verify import Findings, check
from gpuc.verify.subject import Subject


@check("SCH008")
def object_twice(subject: Subject) -> Findings:
    """gpuc emits an object twice, or emits objects of another file between the objects of one file.

    The later of two objects with the same kind, namespace and name overwrites the earlier object. The
    emitters must emit the objects of a file together.
    """
    yield from _duplicates(subject.objects.manifests)
    yield from _interleaved(subject.objects.manifests)


def _duplicates(manifests: Sequence[Manifest]) -> Findings:
    first: dict[tuple[str, str, str, str], Manifest] = {}
    for manifest in manifests:
        group = manifest.api.rpartition("/")[0]
        before = first.setdefault((group, manifest.kind, manifest.namespace, manifest.name), manifest)
        if before is not manifest:
            yield ObjectFinding(object_twice.rule, manifest, (), f"{before.file} already contains this object")


def _interleaved(manifests: Sequence[Manifest]) -> Findings:
    ended: set[str] = set()
    current = ""
    for manifest in manifests:
        if manifest.file != current:
            if manifest.file in ended:
                yield ObjectFinding(
                    object_twice.rule,
                    manifest,
                    (),
                    f"objects of {current} separate this object from the other objects of its file",
                )
            ended.add(current)
            current = manifest.file
