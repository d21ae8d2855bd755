"""Finds labels and annotations where no program reads them, for example labels outside of the pod template.

The file words.toml lists the labels and annotations, the programs that read them, and where the programs read them.
"""

from functools import cache
from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.lint.checks import Findings, check, rule_of
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, group, pairs
from gpuc.objects.pods import pods_of
from gpuc.parts.folders import table_beside
from gpuc.parts.workload_kinds import workload_kinds

NOT_READ = rule_of("REF087")
_WORDS: dict[str, dict[str, Any]] = {key: row for row in table_beside(__file__)["words"] for key in row["keys"]}
_PLACES = {
    "labels": "the labels of the object", "annotations": "the annotations of the object",
    "pod labels": "the labels of the pod template", "pod annotations": "the annotations of the pod template",
}  # fmt: skip


@check(NOT_READ)
def findings(objects: ObjectSet) -> Findings:
    """Yields a finding for every known label or annotation on an object on which no program reads the key."""
    for manifest in objects.manifests:
        if (group(manifest), manifest.kind) in _kinds():
            yield from _misplaced(manifest)


@cache
def _kinds() -> frozenset[tuple[str, str]]:
    return frozenset({("", "Namespace"), *((kind.group, kind.kind) for kind in workload_kinds())})


def _misplaced(manifest: Manifest) -> Findings:
    document = manifest.document()
    metadata: list[tuple[str, Path]] = [("", ("metadata",))]
    metadata += [("pod ", (*pods.path, "metadata")) for pods in pods_of(manifest) if pods.path]
    maps = {(f"{owner}{name}", (*path, name)) for owner, path in metadata for name in ("labels", "annotations")}
    if len(metadata) == 1 and manifest.kind == "Pod":
        maps |= {(f"pod {place}", path) for place, path in maps}
    for place, path in sorted(maps):
        for key in [key for key, _ in pairs(dig(document, *path)) if key in _WORDS]:
            word = _WORDS[key]
            read = [other for name, other in maps if name == word["reads"]]
            effect = word.get("effects", {}).get(f"{manifest.kind} {place}", "")
            is_wrong = place in word["wrong"] or effect
            is_meant = (manifest.kind == "Namespace") == ("kinds" in word) and is_wrong and read
            if is_meant and path not in read and not any(key in dict(pairs(dig(document, *other))) for other in read):
                where = _PLACES[word["reads"]]
                message = f"{word['program']} reads {key} only in {where}; {effect or 'here it has no effect'}"
                yield ObjectFinding(NOT_READ, manifest, (*path, key), message, f"move it to {where}", on_key=True)
