"""Expansion of workloads: Gatekeeper computes and checks the pods of a workload before a controller creates them.

Source: gatekeeper v3.23.0 pkg/expansion/system.go and db.go
"""

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

from gpuc.admission.policy_review import Review, request_variable, strings
from gpuc.manifest.manifest import Body, Manifest
from gpuc.objects.object_set import ObjectSet, by_first, dig, items

_DEPTH_MAX = 30


class Expanded(NamedTuple):
    """An object, usually a pod, that Gatekeeper computes from another object with an ExpansionTemplate."""

    review: Review
    template: Manifest
    """The ExpansionTemplate."""

    @property
    def action(self) -> str:
        """The enforcement action of the ExpansionTemplate, which replaces that of constraints; empty without one."""
        return str(dig(self.template.body, "spec", "enforcementAction") or "")

    @property
    def prefix(self) -> str:
        """The start of messages about the object, for example "[Implied by expand-jobs] "."""
        return f"[Implied by {self.template.name}] "


class Expansions:
    """The ExpansionTemplates in an object set."""

    def __init__(self, objects: ObjectSet) -> None:
        self._templates = by_first(
            (kind, manifest)
            for manifest in objects.of("expansion.gatekeeper.sh", "ExpansionTemplate")
            for _, row in items(dig(manifest.body, "spec", "applyTo"))
            for kind in product(*(strings(dig(row, key)) for key in ("groups", "versions", "kinds")))
        )

    def expand(self, review: Review, depth: int = 0) -> Iterator[Expanded | Manifest]:
        """Yields the objects that Gatekeeper computes from an object, and those that it computes from the results.

        If the object has no pod template, the function yields the ExpansionTemplate instead: the webhook then fails.
        """
        for template in self._templates.get((review.group, review.version, review.kind), ()):
            body = _expanded(review, dig(template.body, "spec"))
            if body is None or depth == _DEPTH_MAX:
                yield template
                continue
            expanded = Expanded(_review(review, body), template)
            yield from self.expand(expanded.review, depth + 1)
            yield expanded


def _expanded(review: Review, spec: Any) -> Body | None:
    """Returns the expanded object; None if the path of the template does not exist."""
    source = dig(review.document, *str(dig(spec, "templateSource")).split("."))
    kind = dig(spec, "generatedGVK")
    if not isinstance(source, dict) or not isinstance(kind, dict):
        return None
    group, version, name = (str(dig(kind, key) or "") for key in ("group", "version", "kind"))
    metadata = dict(found) if isinstance(found := source.get("metadata"), dict) else {}
    metadata["name"] = f"{review.name}-{name}".lower()
    if review.namespace:
        metadata["namespace"] = review.namespace
    owner = {"apiVersion": str(review.document.get("apiVersion")), "kind": review.kind, "name": review.name}
    owners = [item for _, item in items(metadata.get("ownerReferences"))]
    if not any(all(dig(item, key) == value for key, value in owner.items()) for item in owners):
        metadata["ownerReferences"] = [*owners, {**owner, "uid": ""}]
    return {**source, "apiVersion": f"{group}/{version}" if group else version, "kind": name, "metadata": metadata}


def _review(parent: Review, body: Body) -> Review:
    """Returns the review of an expanded object. Its request has no user.

    Source: gatekeeper v3.23.0 pkg/target/target.go (unstructuredToAdmissionRequest)
    """
    group, _, version = body["apiVersion"].rpartition("/")
    kind, name = body["kind"], body["metadata"]["name"]
    request = request_variable((group, version, kind), "", name, parent.namespace, {}, None)
    return Review(body, group, version, kind, "", name, parent.namespace, parent.scope, request, "Generated")
