"""The fields of NodePools and EC2NodeClasses from which Karpenter computes hashes to detect drift.

A node has the hashes of the objects with which it started. If a hash of one of these objects changes, Karpenter
replaces the node. A test compares the results of this module with the hash functions of Karpenter:
tests/conformance/karpenter_hashes.py.

Source: kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/nodepool.go (Hash; fields with hash:"ignore");
aws/karpenter-provider-aws v1.14.1 pkg/apis/v1/ec2nodeclass.go (Hash); mitchellh/hashstructure v2.0.2 hashstructure.go
(SlicesAsSets, IgnoreZeroValue)
"""

from collections import Counter
from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.duration import format_duration, parse_duration
from gpuc.kubernetes.quantity import canonical_quantity
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig, items, pairs
from gpuc.plan.change import Pair
from gpuc.plan.differences import FieldChange, differences

TEMPLATE: Path = ("spec", "template")
COMPARED_TEMPLATE = ("requirements",)
"""Fields of spec.template.spec of a NodePool that are not in the hash. Karpenter compares them with each node."""
COMPARED_CLASS = (
    "subnetSelectorTerms",
    "securityGroupSelectorTerms",
    "capacityReservationSelectorTerms",
    "amiSelectorTerms",
)
"""Fields of spec of an EC2NodeClass that are not in the hash. Karpenter compares the selected resources with nodes."""
_ONLY_NEW = ("ipPrefixCount",)
"""Fields of spec of an EC2NodeClass that are not in the hash, and that Karpenter compares with no node."""
_ZEROS = ("rootVolume", "networkCardIndex", "deviceIndex")
"""Fields without a pointer in Go: the hash does not distinguish false or 0 from a missing field."""
_DURATIONS = ("expireAfter", "terminationGracePeriod", "evictionSoftGracePeriod")
"""Fields with durations, and with maps of durations. The hash depends on the length of a duration, not on its text.

Source: kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/duration.go (Raw)
"""
_QUANTITIES = ("volumeSize",)
"""Fields with quantities. The hash depends on the canonical text of a quantity."""
_EXPIRE_AFTER = "720h"
"""The default of the API server for expireAfter.

Source: kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/nodepool.go (NodeClaimTemplateSpec, kubebuilder:default)
"""
_FAMILIES = ("AL2", "AL2023", "Bottlerocket", "Windows2019", "Windows2022", "Windows2025")


def hashed_fields(pair: Pair) -> list[FieldChange]:
    """Returns those changed fields of a NodePool or an EC2NodeClass that change its hash, so that its nodes drift."""
    if not pair.is_changed:
        return []
    prefix = TEMPLATE if pair.manifest.kind == "NodePool" else ("spec",)
    before, after = _hashed(pair.before), _hashed(pair.after)
    return [
        FieldChange((*prefix, *field.path), field.before, field.after)
        for field in differences(before, after)
        if not _is_reordered(before, after, field.path)
    ]


def _hashed(manifest: Manifest | None) -> dict[str, Any]:
    """Returns the part of an object that is in its hash."""
    document = manifest.document() if manifest else {}
    if manifest is not None and manifest.kind == "NodePool":
        found = pairs(dig(document, *TEMPLATE, "spec"))
        spec = {key: value for key, value in found if key not in COMPARED_TEMPLATE}
        metadata = dict(pairs(dig(document, *TEMPLATE, "metadata")))
        return {"metadata": metadata, "spec": _canonical({"expireAfter": _EXPIRE_AFTER, **spec})}
    spec = {key: value for key, value in pairs(dig(document, "spec")) if key not in (*COMPARED_CLASS, *_ONLY_NEW)}
    return {**_canonical(spec), "amiFamily": _ami_family(document)}


def _canonical(value: Any, field: str = "") -> Any:
    """Returns a value in a normal form: two values with the same hash have the same form.

    A field without a pointer and its zero value are equal.
    """
    if isinstance(value, dict):
        return {
            key: _canonical(inner, field if field in _DURATIONS else key)
            for key, inner in value.items()
            if inner or key not in _ZEROS
        }
    if isinstance(value, list):
        return [_canonical(inner, field) for inner in value]
    try:
        if field in _DURATIONS:
            return format_duration(parse_duration(str(value)))
        return canonical_quantity(str(value)) if field in _QUANTITIES else value
    except ValueError:
        return value


def _ami_family(document: Any) -> str:
    """Returns the AMI family: of the field, else of the alias."""
    if family := dig(document, "spec", "amiFamily"):
        return str(family)
    for _, term in items(dig(document, "spec", "amiSelectorTerms")):
        if alias := dig(term, "alias"):
            name = str(alias).partition("@")[0]
            return next((family for family in _FAMILIES if family.lower() == name), name)
    return "Custom"


def _is_reordered(before: Any, after: Any, path: Path) -> bool:
    """Returns whether the list of a field has the same items in another order. The hash reads lists as sets."""
    for depth in range(1, len(path) + 1):
        old, new = dig(before, *path[:depth]), dig(after, *path[:depth])
        if isinstance(old, list) and isinstance(new, list):
            return Counter(map(repr, old)) == Counter(map(repr, new))
    return False
