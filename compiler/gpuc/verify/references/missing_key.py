from typing import Any

from gpuc.diagnostics.contract import When
from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.spelling import missing, misspelt, write
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import dig, grouped, pairs
from gpuc.objects.paths import matching_values, pattern
from gpuc.verify import Findings, check
from gpuc.verify.references.reference import TABLE
from gpuc.verify.subject import Subject

READS: list[tuple[str, str, str, str]] = TABLE["keys"]


@check("REF007", when=When.BOTH)
def missing_key(subject: Subject) -> Findings:
    """A pod refers to a key that its ConfigMap or Secret does not have."""
    # An object without any key causes no finding, because a program adds the keys.
    index = subject.index
    manifests = (manifest for kind in ("ConfigMap", "Secret") for manifest in index.tree.of("", kind))
    objects = grouped(manifests, lambda manifest: (manifest.kind, manifest.name))
    for pods in index.pods:
        for reference_path, name_field, keys_path, kind in READS:
            for path, reference in matching_values(pods.template, pattern(reference_path)):
                candidates = objects.get((kind, str(dig(reference, name_field))), [])
                known = _known_keys(candidates, pods.manifest.namespace)
                if known and dig(reference, "optional") is not True:
                    for inner, key in matching_values(reference, pattern(keys_path)):
                        target = f"{kind} {dig(reference, name_field)}"
                        yield from _key_finding(pods.manifest, (*pods.path, *path, *inner), key, known, target)


def _known_keys(candidates: list[Manifest], namespace: str) -> set[str]:
    """Returns the keys of the candidate in a pod's namespace; empty if none or several are in the namespace."""
    matching = [row for row in candidates if not namespace or row.namespace in ("", namespace)]
    only = matching if len(matching) == 1 else ()
    fields = (dig(row.body, field) for row in only for field in ("data", "binaryData", "stringData"))
    return {key for field in fields for key, _ in pairs(field)}


def _key_finding(manifest: Manifest, path: Path, key: Any, known: set[str], target: str) -> Findings:
    if isinstance(key, str) and key not in known:
        suggestion = misspelt(key, known)
        message = f"in {target}: {missing('the key', key, known, suggestion)}"
        yield ObjectFinding(missing_key.rule, manifest, path, message, write(suggestion))
