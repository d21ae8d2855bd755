"""Applies the patches of a spec to the objects that gpuc emits."""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from fnmatch import fnmatchcase
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from gpuc.customize.decided import contradictions
from gpuc.customize.json_patch import OperationError, apply_operation
from gpuc.customize.merge import is_same, merge_patch
from gpuc.diagnostics.finding import Finding, Path, Rule, rule_table
from gpuc.diagnostics.place import place
from gpuc.diagnostics.spelling import alternatives, nearest
from gpuc.manifest.manifest import Body, Manifest
from gpuc.manifest.printable import unprintable
from gpuc.objects.object_set import dig, group
from gpuc.spec.patches import Patch

rule_of = rule_table(__file__)
NO_MATCH = rule_of("PAT001")
NO_CHANGE = rule_of("PAT002")
FAILED = rule_of("PAT003")
IDENTITY = rule_of("PAT004")
NOT_AN_OBJECT = rule_of("PAT005")
OWN_METADATA = rule_of("PAT006")
CONTRADICTION = rule_of("PAT007")

_IDENTITY: tuple[Path, ...] = (("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace"))
_TEXTS = ("labels", "annotations")
SECTION: Path = ("spec", "patches")


class _PatchError(Exception):
    """A patch cannot be applied to an object."""

    def __init__(self, errors: Sequence[tuple[Rule, Path, str]]) -> None:
        super().__init__(f"{len(errors)} errors")
        self.errors = errors
        """Rule, path in the spec, and message of each error."""


class Patches(Struct):
    """Applies the patches in a spec to objects, and collects the findings about the patches."""

    patches: Mapping[int, Patch]
    """The patches to apply, by index in the spec."""
    unsynced: str
    """The folder of the workload templates, which patches do not change."""
    _names: dict[str, set[tuple[str, str]]] = field(default_factory=dict)
    """Namespace and name of all objects, by kind."""
    _templates: set[tuple[str, str]] = field(default_factory=set)
    """Kind and name of the workload templates."""
    _matched: set[int] = field(default_factory=set)
    _effective: set[int] = field(default_factory=set)
    """The indexes of patches that changed an object, or failed."""
    _errors: dict[tuple[Rule, Path], list[str]] = field(default_factory=dict)
    """The messages by rule and spec path, one for each object."""

    def apply(self, manifest: Manifest) -> Manifest:
        """Applies all patches that select the object. Returns the same object if no patch changes it."""
        if manifest.file.startswith(self.unsynced):
            self._templates.add((manifest.kind, manifest.name))
            return manifest
        self._names.setdefault(manifest.kind, set()).add((manifest.namespace, manifest.name))
        patched = manifest
        for index, patch in self.patches.items():
            if not _matches(patch, manifest):
                continue
            self._matched.add(index)
            try:
                result = _patched(patched, patch, (*SECTION, index))
            except _PatchError as error:
                self._effective.add(index)
                for rule, path, message in error.errors:
                    self._add(rule, path, manifest, message)
                continue
            for path, message in _changed_metadata(manifest, patched, result):
                self._add(OWN_METADATA, path, manifest, message)
            for path, message in contradictions(manifest, patched, result):
                self._add(CONTRADICTION, path, manifest, message)
            if not is_same(patched.document(), result.document()):
                self._effective.add(index)
                patched = result
        return patched

    def _add(self, rule: Rule, path: Path, manifest: Manifest, message: str) -> None:
        self._errors.setdefault((rule, path), []).append(f"{manifest}: {message}")

    def findings(self) -> Iterator[Finding]:
        """Yields the findings about all patches. Call `apply` for all objects first."""
        for index, patch in self.patches.items():
            path = (*SECTION, index)
            if index not in self._matched:
                yield self._unmatched(patch, path)
            elif index not in self._effective:
                yield NO_CHANGE.at(path, "the patch changes nothing: all matching objects have these values already")
        for (rule, path), messages in self._errors.items():
            others = f" (and {len(messages) - 1} more objects)" if len(messages) > 1 else ""
            yield rule.at(path, messages[0] + others)

    def _unmatched(self, patch: Patch, path: Path) -> Finding:
        target = patch.target
        if target.kind not in self._names:
            suggestion = nearest(target.kind, self._names)
            reason = f"gpuc emits no object of kind {target.kind}{alternatives(self._names, suggestion)}"
            if any(kind == target.kind for kind, _ in self._templates):
                reason = f"the {target.kind}s of gpuc are templates, which Argo CD does not sync"
            return NO_MATCH.at((*path, "target", "kind"), f"the patch matches no object: {reason}")
        named = [(namespace, name) for namespace, name in self._names[target.kind] if fnmatchcase(name, target.name)]
        if not named:
            names = sorted({name for _, name in self._names[target.kind]})
            reason = f"{target.kind} {target.name} does not exist{alternatives(names, nearest(target.name, names))}"
            return NO_MATCH.at((*path, "target", "name"), f"the patch matches no object: {reason}")
        namespaces = sorted({namespace for namespace, _ in named})
        if target.namespace is not None and not any(fnmatchcase(known, target.namespace) for known in namespaces):
            known = [namespace for namespace in namespaces if namespace]
            places = alternatives(known, nearest(target.namespace, known)) if known else "; the object has no namespace"
            reason = f"namespace {target.namespace} has no {target.kind} {target.name}{places}"
            return NO_MATCH.at((*path, "target", "namespace"), f"the patch matches no object: {reason}")
        reason = f"group {target.group} has no {target.kind} {target.name}"
        return NO_MATCH.at((*path, "target", "group"), f"the patch matches no object: {reason}")


def _matches(patch: Patch, manifest: Manifest) -> bool:
    target = patch.target
    return (
        target.kind == manifest.kind
        and fnmatchcase(manifest.name, target.name)
        and (target.namespace is None or fnmatchcase(manifest.namespace, target.namespace))
        and (target.group is None or target.group == group(manifest))
    )


def _patched(manifest: Manifest, patch: Patch, path: Path) -> Manifest:
    """Returns the object with a patch applied.

    Args:
        path: the spec path of the patch.

    Raises:
        _PatchError: when the result is not an object, or is another object.
    """
    document = deepcopy(manifest.document())
    overrides = dict(manifest.overrides)
    if isinstance(patch.patch, dict):
        origin = (*path, "patch")
        result = merge_patch(document, deepcopy(patch.patch), lambda at: overrides.update({at: (*origin, *at)}))
    else:
        result = document
        for number, operation in enumerate(patch.patch):
            at = (*path, "patch", number)
            try:
                result, changed = apply_operation(result, operation)
            except OperationError as error:
                raise _PatchError([(FAILED, at, f"{operation.op} {operation.path}: {error}")]) from None
            # A test changes nothing.
            for changed_path, has_value in changed if operation.op != "test" else ():
                overrides[changed_path] = (*at, "value") if has_value else at
    return _manifest(manifest, result, overrides, path)


def _manifest(manifest: Manifest, result: Any, overrides: dict[Path, Path], path: Path) -> Manifest:
    """Returns the object that a patched document describes.

    Raises:
        _PatchError: when the document is not an object, or is another object.
    """
    changed = replace(manifest, overrides=overrides)
    errors = list(_errors(manifest.document(), result)) or [
        # `unprintable` is stricter than the printer, so gpuc ignores its findings about values of gpuc.
        (NOT_AN_OBJECT, at, message)
        for at, message in unprintable(result)
        if changed.override(at)
    ]
    if errors:
        raise _PatchError(
            [(rule, changed.override(at) or path, f"{place(at)}: {message}") for rule, at, message in errors]
        )
    metadata = result["metadata"]
    body = {key: value for key, value in result.items() if key not in ("apiVersion", "kind", "metadata")}
    return replace(changed, body=body, labels=metadata.get("labels", {}), annotations=metadata.get("annotations", {}))


def _errors(before: Body, after: Any) -> Iterator[tuple[Rule, Path, str]]:
    """Yields rule, path and message of each change that makes the document another object, or not an object."""
    metadata = after.get("metadata")
    if not isinstance(metadata, dict):
        yield NOT_AN_OBJECT, ("metadata",), "the patch removes or replaces metadata"
        return
    for at in _IDENTITY:
        old, new = dig(before, *at), dig(after, *at)
        if not is_same(old, new):
            change = f"changes the value from {old} to {new}" if new is not None else f"removes the value {old}"
            yield IDENTITY, at, f"the patch {change}"
    # Finalizers and owner references decide about deletion, which `delivery.prune` and `leaving` decide.
    for key in sorted(metadata.keys() - {*_TEXTS, "name", "namespace"}):
        yield NOT_AN_OBJECT, ("metadata", key), "a patch can set labels and annotations, and no other metadata"
    for key in _TEXTS:
        for at, message in _text_errors(metadata.get(key, {}), ("metadata", key)):
            yield NOT_AN_OBJECT, at, message


def _text_errors(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """Yields the errors of a map of labels or annotations."""
    if not isinstance(value, dict):
        yield path, "expected a map of strings"
        return
    for key, text in value.items():
        if not isinstance(text, str):
            yield (*path, key), f"the value is {text}; expected a string, in quotes"


def _changed_metadata(emitted: Manifest, before: Manifest, after: Manifest) -> Iterator[tuple[Path, str]]:
    """Yields the spec path and a message for each label and annotation of gpuc that the patch changes or removes.

    Args:
        emitted: the object without patches. A patch may change its labels and annotations from the spec.
        before: the object without this patch.
    """
    for kind in _TEXTS:
        old, new = getattr(before, kind), getattr(after, kind)
        for key in getattr(emitted, kind):
            at = ("metadata", kind, key)
            if at in emitted.overrides:
                continue
            if key in old and new.get(key) != old[key] and (path := after.override(at)):
                change = f"{old[key]} becomes {new[key]}" if key in new else f"{old[key]} is removed"
                yield path, f"{place(at)}: {change}"
