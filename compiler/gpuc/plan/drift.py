"""Which nodes Karpenter replaces after a change, by the rules of the pinned Karpenter.

A change of a hashed field replaces all nodes. Requirements, images, subnets, security groups and capacity reservations
are compared with each node. Other fields apply only to new nodes. The list of hashed fields is compared with the real
hash functions, see tests/conformance/karpenter_hashes.py.

Source: kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/nodepool.go (Hash), pkg/controllers/nodeclaim/disruption/drift.go;
aws/karpenter-provider-aws v1.14.1 pkg/apis/v1/ec2nodeclass.go (Hash), pkg/cloudprovider/drift.go
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig, items
from gpuc.plan.change import Change, Pair
from gpuc.plan.difference import MISSING, FieldChange

KARPENTER, AWS = "karpenter.sh", "karpenter.k8s.aws"
TEMPLATE: Path = ("spec", "template")
COMPARED_TEMPLATE = ("requirements",)
"""Fields of spec.template.spec of a NodePool that are not in the hash."""
COMPARED_CLASS = (
    "subnetSelectorTerms",
    "securityGroupSelectorTerms",
    "capacityReservationSelectorTerms",
    "amiSelectorTerms",
    "ipPrefixCount",
)
"""Fields of spec of an EC2NodeClass that are not in the hash. amiFamily is hashed with the family of an alias."""
_WORDS = {
    "userData": "user data",
    "blockDeviceMappings": "volumes",
    "networkInterfaces": "network interfaces",
    "metadataOptions": "instance metadata options",
    "instanceStorePolicy": "instance store policy",
    "kubelet": "kubelet settings",
    "role": "node role",
    "instanceProfile": "instance profile",
    "amiFamily": "AMI family",
    "startupTaints": "startup taints",
    "nodeClassRef": "EC2NodeClass",
}
_TERMS = {"subnetSelectorTerms": "subnets", "securityGroupSelectorTerms": "security groups"}
_LABELS = {
    "node.kubernetes.io/instance-type": "instance types",
    "karpenter.sh/capacity-type": "purchase options",
    "topology.kubernetes.io/zone": "zones",
    "kubernetes.io/arch": "architectures",
}


@dataclass(frozen=True)
class Reason:
    """Why Karpenter replaces nodes."""

    words: str
    """The change in words, for example "image al2023@v20260815 -> al2023@v20260901"."""
    manifest: Manifest
    path: Path
    """The path of the changed field in the object."""


@dataclass(frozen=True)
class NodePoolDrift:
    """The nodes of a NodePool that Karpenter replaces."""

    pair: Pair
    """The NodePool."""
    all_nodes: tuple[Reason, ...]
    """Changes that replace all nodes."""
    some_nodes: tuple[Reason, ...]
    """Changes that replace only the nodes with the values in `words`."""
    unknown: tuple[Reason, ...]
    """Changes that replace nodes only if other resources of AWS match now."""


def drifts(change: Change) -> Iterator[NodePoolDrift]:
    """Yields the NodePools of both states whose nodes drift, or may drift."""
    for pair in change.pairs(KARPENTER, "NodePool"):
        if pair.is_added or pair.is_removed:
            continue
        name = pair.values(*TEMPLATE, "spec", "nodeClassRef", "name")[1]
        node_class = change.pair(AWS, "EC2NodeClass", str(name))
        changed_class = node_class if node_class is not None and node_class.is_changed else None
        everything = list(_hashed_reasons(pair, changed_class))
        some: list[Reason] = []
        unknown: list[Reason] = []
        for reason, scope in (*_requirement_reasons(pair), *_class_reasons(changed_class)):
            {"all": everything, "some": some, "unknown": unknown}[scope].append(reason)
        if everything or some or unknown:
            yield NodePoolDrift(pair, tuple(everything), tuple(some), tuple(unknown))


def hashed_fields(pair: Pair) -> list[FieldChange]:
    """Returns the changed fields of a NodePool or an EC2NodeClass that change its hash. The order of lists does not."""
    is_pool = pair.manifest.kind == "NodePool"
    found = []
    for field in pair.fields if pair.is_changed else ():
        inner = field.path[2:] if field.is_below(*TEMPLATE) and is_pool else field.path[1:]
        if is_pool and (not field.is_below(*TEMPLATE) or (inner[:1] == ("spec",) and inner[1] in COMPARED_TEMPLATE)):
            continue
        if not is_pool and (not field.is_below("spec") or inner[0] in COMPARED_CLASS):
            continue
        if not _is_reordered(pair, field):
            found.append(field)
    return found


def _is_reordered(pair: Pair, field: FieldChange) -> bool:
    """Returns whether the list of the field has the same items in another order. The hash reads lists as sets."""
    for depth in range(len(field.path), 0, -1):
        before, after = pair.values(*field.path[:depth])
        if isinstance(before, list) and isinstance(after, list):
            return Counter(map(repr, before)) == Counter(map(repr, after))
    return False


def _hashed_reasons(pool: Pair, node_class: Pair | None) -> Iterator[Reason]:
    for pair in (pool, *([node_class] if node_class else [])):
        found: dict[str, Reason] = {}
        for field in hashed_fields(pair):
            manifest = pair.before if field.after is MISSING and pair.before else pair.manifest
            words = _words(field)
            found.setdefault(words, Reason(words, manifest, field.path))
        yield from found.values()


def _words(field: FieldChange) -> str:
    """Returns a hashed field in words."""
    steps = [str(step) for step in field.path if isinstance(step, str) and step not in ("spec", "template", "metadata")]
    name = _WORDS.get(steps[0], steps[0])
    if name in ("labels", "annotations", "tags") and len(steps) > 1:
        return f"{name.removesuffix('s')} {steps[1]}"
    if steps[0] in ("expireAfter", "terminationGracePeriod", "role", "instanceProfile", "amiFamily"):
        return f"{name} {_text(field.before)} -> {_text(field.after)}"
    return name


def _text(value: Any) -> str:
    return "none" if value is MISSING else str(value)


def _requirement_reasons(pair: Pair) -> Iterator[tuple[Reason, str]]:
    """Yields the requirements that nodes no longer meet: a node keeps the labels with which it started."""
    before, after = (_requirements(value) for value in pair.values(*TEMPLATE, "spec", "requirements"))
    for key, (index, new) in after.items():
        path = (*TEMPLATE, "spec", "requirements", index, "values")
        name = _LABELS.get(key, f"label {key}")
        if key not in before:
            yield Reason(f"{name} {', '.join(sorted(new))}", pair.manifest, path), "unknown"
            continue
        removed = before[key][1] - new
        if removed:
            scope = "some" if before[key][1] & new else "all"
            yield Reason(f"{name} without {', '.join(sorted(removed))}", pair.manifest, path), scope


def _requirements(value: Any) -> dict[str, tuple[int, frozenset[str]]]:
    """Returns the requirements with a list of allowed values: the index and the values, by label."""
    return {
        str(dig(entry, "key")): (index, frozenset(map(str, dig(entry, "values") or ())))
        for index, entry in items(value)
        if dig(entry, "operator") == "In"
    }


def _class_reasons(pair: Pair | None) -> Iterator[tuple[Reason, str]]:
    """Yields the changed selectors of an EC2NodeClass. Which resources match tags is known only to AWS."""
    if pair is None:
        return
    before, after = (_images(value) for value in pair.values("spec", "amiSelectorTerms"))
    if before != after:
        scope = "all" if before[0] and after[0] else "unknown"
        reason = Reason(f"image {before[1]} -> {after[1]}", pair.manifest, ("spec", "amiSelectorTerms"))
        yield reason, scope
    for field, name in _TERMS.items():
        old, new = pair.values("spec", field)
        if old == new:
            continue
        old_ids, new_ids = _ids(old), _ids(new)
        if old_ids is None or new_ids is None:
            yield Reason(f"another selector of {name}", pair.manifest, ("spec", field)), "unknown"
        elif field == "securityGroupSelectorTerms" and old_ids != new_ids:
            yield Reason(f"security groups {', '.join(sorted(new_ids))}", pair.manifest, ("spec", field)), "all"
        elif old_ids - new_ids:
            words = f"{name} without {', '.join(sorted(old_ids - new_ids))}"
            yield Reason(words, pair.manifest, ("spec", field)), "some" if old_ids & new_ids else "all"
    old, new = (_ids(value or []) for value in pair.values("spec", "capacityReservationSelectorTerms"))
    if old is not None and new is not None and old - new:
        words = f"reservations without {', '.join(sorted(old - new))}"
        yield Reason(words, pair.manifest, ("spec", "capacityReservationSelectorTerms")), "some"


def _images(terms: Any) -> tuple[bool, str]:
    """Returns whether selector terms name exact images, and the images in words."""
    texts = [str(dig(term, "alias") or dig(term, "id") or "by tags") for _, term in items(terms)]
    is_exact = all(text != "by tags" and not text.endswith("@latest") for text in texts)
    return is_exact, ", ".join(texts)


def _ids(terms: Any) -> frozenset[str] | None:
    """Returns the ids in selector terms; None if a term selects by tags."""
    ids = [dig(term, "id") for _, term in items(terms)]
    return frozenset(map(str, ids)) if all(isinstance(one, str) for one in ids) else None
