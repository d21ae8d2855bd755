"""Merges the Helm values of a spec over the Helm values that gpuc emits for a component."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from gpuc.customize.chart_keys import reason, relied, without_effect
from gpuc.customize.merge import is_same, merge_patch
from gpuc.customize.uses import uses
from gpuc.diagnostics.finding import Finding, Path, rule_table
from gpuc.diagnostics.place import place
from gpuc.diagnostics.spelling import nearest
from gpuc.emit.block import block_yaml
from gpuc.emit.component import component_named
from gpuc.manifest.manifest import Artifact, Body, Values
from gpuc.manifest.printable import unprintable
from gpuc.spec.components import ComponentSettings

rule_of = rule_table(__file__)
DERIVED = rule_of("VAL101")
SAME = rule_of("VAL102")
NO_CHART = rule_of("VAL103")
UNPRINTABLE = rule_of("VAL104")
INEFFECTIVE = rule_of("VAL105")


def values_path(component: str) -> Path:
    """Returns the path in the spec of the Helm values of a component."""
    return ("spec", "components", component, "values")


class ComponentValues(Struct):
    """The Helm values of all components in a spec, and the findings about these values."""

    cluster: str
    """The name of the cluster."""
    settings: Mapping[str, ComponentSettings]
    """The settings of components with Helm values, by component."""
    _merged: set[str] = field(default_factory=set)
    """The components with a values file."""
    _same: list[tuple[str, Path]] = field(default_factory=list)
    """Component and path of each value of the spec that is equal to gpuc's value."""
    _replaced: list[tuple[str, Path, Any, Any]] = field(default_factory=list)
    """Component, path, value of gpuc and value of the spec, for each value of gpuc that the spec replaces."""
    _added: list[tuple[str, Path, Any]] = field(default_factory=list)
    """Component, path and value of the values that gpuc does not have."""
    _unprintable: list[tuple[str, Path, str]] = field(default_factory=list)

    def apply(self, values: Values) -> Values:
        """Returns the Helm values of gpuc for a component, replaced where the spec has other values."""
        settings = self.settings.get(values.component)
        if settings is None:
            return values
        self._merged.add(values.component)
        refused = list(unprintable(settings.values, allows_null=True))
        self._unprintable += [(values.component, path, problem) for path, problem in refused]
        if refused:
            return values
        merge = _Merge(values)
        body = merge.map(values.body, settings.values, ())
        self._same += [(values.component, path) for path in merge.same]
        self._replaced += [(values.component, *change) for change in merge.replaced]
        self._added += [(values.component, *addition) for addition in merge.added]
        origin = values_path(values.component)
        overrides = {path: (*origin, *path) for path in merge.changed}
        return replace(values, body=body, embedded=values.embedded | merge.embedded, overrides=overrides)

    def findings(self, artifacts: Sequence[Artifact]) -> Iterator[Finding]:
        """Yields the findings about all Helm values of the spec. Call `apply` for all components first.

        Args:
            artifacts: all artifacts of the cluster, among which objects may contain a name that a value replaces.
        """
        present = sorted(artifact.component for artifact in artifacts if isinstance(artifact, Values))
        for component in self.settings:
            if component not in self._merged:
                suggestion = nearest(component, present)
                known = ", ".join(present)
                message = f"gpuc writes no values file for {component}; components with a values file: {known}"
                fix = f"write {suggestion}" if suggestion and suggestion not in self.settings else ""
                yield NO_CHART.at(values_path(component), message, fix=fix, on_key=True)
        for component, path, problem in self._unprintable:
            yield UNPRINTABLE.at((*values_path(component), *path), f"values of {component}: {place(path)}: {problem}")
        for component, path in self._same:
            message = f"values of {component}: {place(path)}: the entry changes nothing"
            yield SAME.at((*values_path(component), *path), message, fix=f"remove {place(path)}")
        for component, path, old, new in self._replaced:
            known = reason(component, path)
            texts = [f"reason of gpuc: {known}" if known else "", uses(path, old, artifacts, self.cluster)]
            why = "; ".join(filter(None, texts)) or _UNKNOWN
            yield _derived(component, path, f"{'removes' if new is None else 'replaces'} {_shown(old)} of gpuc; {why}")
        for component, path, value in self._added:
            if (chart := component_named(component)) is None:
                continue
            for at, why in relied(chart, path, value):
                yield _derived(component, at, f"replaces a default of the chart that gpuc relies on: {why}")
            for at in without_effect(chart, path, value):
                message = f"values of {component}: {place(at)} has no effect: {chart.ineffective_because}"
                yield INEFFECTIVE.at((*values_path(component), *at), message, on_key=True)


_UNKNOWN = "gpuc did not find the value in other objects; objects can rely on the value nevertheless"


def _derived(component: str, path: Path, message: str) -> Finding:
    fix = f"accept the change with components.{component}.accept: {{VAL101: REASON}}"
    return DERIVED.at((*values_path(component), *path), f"values of {component}: {place(path)} {message}", fix=fix)


class _Merge:
    """Merges values of the spec over the values of a component, and records what changes."""

    def __init__(self, values: Values) -> None:
        self._documents = values.embedded
        self.embedded: dict[str, Any] = {}
        """The changed documents by their new text."""
        self.changed: list[Path] = []
        """The paths of all values that the spec sets or removes."""
        self.added: list[tuple[Path, Any]] = []
        """Path and value of the values that gpuc does not have."""
        self.same: list[Path] = []
        self.replaced: list[tuple[Path, Any, Any]] = []
        """Path, value of gpuc and value of the spec, for each value of gpuc that the spec replaces."""

    def map(self, ours: Body, theirs: Body, path: Path, *, is_document: bool = False) -> Body:
        """Merges a map of the spec over a map of gpuc, and returns the result.

        Args:
            is_document: whether the map is in a YAML text, where null removes the key. In Helm values, null remains,
                because Helm then removes the default of the chart too.

        Source: helm/helm v4.2.1 pkg/chart/common/util/coalesce.go (coalesceTablesFullKey)
        """
        merged = dict(ours)
        for key, new in theirs.items():
            at = (*path, key)
            if key not in ours:
                self._add(merged, key, new, at, is_document)
                continue
            old = ours[key]
            document = self._documents.get(old) if isinstance(old, str) else None
            if is_same(old, new) or (new == {} and isinstance(old, dict)):
                self.same.append(at)
            elif isinstance(new, dict) and isinstance(old, dict):
                merged[key] = self.map(old, new, at, is_document=is_document)
            elif isinstance(new, dict) and isinstance(document, dict):
                merged[key] = self._text(document, new, at)
            else:
                self.changed.append(at)
                self.replaced.append((at, old, new))
                merged[key] = new
                if new is None and is_document:
                    del merged[key]
        return merged

    def _add(self, merged: Body, key: str, new: Any, path: Path, is_document: bool) -> None:
        if is_document and new is None:
            self.same.append(path)
            return
        self.changed.append(path)
        self.added.append((path, new))
        merged[key] = merge_patch({}, new, lambda at: None) if is_document else new

    def _text(self, document: Body, new: Body, path: Path) -> str:
        """Returns a YAML text with a map of the spec merged into its document."""
        merged = self.map(document, new, path, is_document=True)
        text = block_yaml(merged)
        self.embedded[text] = merged
        return text


def _shown(value: Any) -> str:
    """Returns a value of gpuc as messages show it."""
    import json

    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:77]}..."
