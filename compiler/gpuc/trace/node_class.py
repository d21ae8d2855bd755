"""The node labels that depend on the node class of a pool: the operating system, capacity reservations and zones.

Source: aws/karpenter-provider-aws v1.14.1 pkg/providers/instancetype/types.go (computeRequirements, getOS)
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from gpuc.kubernetes.api_groups import KARPENTER_AWS
from gpuc.kubernetes.node_pool import AWS, CAPACITY_TYPE, REGION, ZONE, ZONE_ID, Offer, normal
from gpuc.kubernetes.selector import Domain, Requirement
from gpuc.objects.object_set import dig, items
from gpuc.trace.instance_labels import TYPE_LABELS, of_aws

AUTO_MODE_GROUP: Final = "eks.amazonaws.com"
OS: Final = "kubernetes.io/os"
RESERVATION_ID: Final = f"{AWS}capacity-reservation-id"
RESERVATION_LABELS: Final = tuple(f"{AWS}capacity-reservation-{name}" for name in ("id", "type", "interruptible"))
"""The labels of reserved nodes."""
_ZONE_NAME = re.compile(r"([a-z]{2}(?:-[a-z]+)+-\d)[a-z]")
"""The form of the name of an availability zone, which starts with the name of the region."""
_ABSENT = Domain(True, frozenset(), False)


def class_offer(api_group: str, spec: Any, region: str = "") -> dict[str, Domain]:
    """Returns the possible values of labels that depend on the node class; without labels that can have any value.

    Args:
        api_group: the API group of the node class.
        region: the AWS region of the nodes; empty if it is unknown.
        spec: the spec of the EC2NodeClass, unvalidated; None if the object does not exist.
    """
    result = {REGION: _one_of(region)} if region and api_group in (AUTO_MODE_GROUP, KARPENTER_AWS) else {}
    if api_group == AUTO_MODE_GROUP:
        return {**result, OS: _one_of("linux")}
    if api_group != KARPENTER_AWS or not isinstance(spec, dict):
        return result
    result[OS] = _one_of("windows" if _is_windows(spec) else "linux")
    if not list(items(dig(spec, "capacityReservationSelectorTerms"))):
        result[CAPACITY_TYPE] = _one_of("on-demand", "spot")
        result |= dict.fromkeys(RESERVATION_LABELS, _ABSENT)
    elif ids := reservation_ids(spec):
        result[RESERVATION_ID] = Domain(True, ids, False)
    if not _is_windows(spec):
        result["node.kubernetes.io/windows-build"] = _ABSENT
    return result


def reservation_ids(spec: Any) -> frozenset[str]:
    """Returns the ids of the capacity reservations of a node class; empty if the node class selects them by tags."""
    ids = [dig(term, "id") for _, term in items(dig(spec, "capacityReservationSelectorTerms"))]
    return frozenset(map(str, ids)) if None not in ids else frozenset()


def _one_of(*values: str) -> Domain:
    return Domain(False, frozenset(values), False)


def _is_windows(spec: Any) -> bool:
    """Returns whether the nodes run Windows, by the AMI family or the alias of the node class."""
    aliases = [dig(term, "alias") for _, term in items(dig(spec, "amiSelectorTerms"))]
    return any(str(name or "").lower().startswith("windows") for name in (dig(spec, "amiFamily"), *aliases))


def has_node_labels(key: str) -> bool:
    """Returns whether the instance type of a node determines the label."""
    return of_aws(key) in TYPE_LABELS


def unknown_location(own: Offer, term: Iterable[Requirement]) -> str:
    """Returns the first requirement for a zone or region if the node pool does not restrict it; empty without one.

    The subnets of the node class decide in which zones a pool can start nodes, and the objects do not show the zones.
    """
    for wanted in term:
        key = normal(wanted.key)
        if key in (ZONE, ZONE_ID, REGION) and wanted.domain.listed is not None and key not in own:
            return str(wanted)
    return ""


def region_of(zones: Iterable[str]) -> str:
    """Returns the AWS region of availability zones; an empty string if the zones do not show exactly one region.

    Local Zones and Wavelength Zones are ignored, because their names have other forms.
    """
    regions = {match[1] for zone in zones if (match := _ZONE_NAME.fullmatch(zone))}
    return regions.pop() if len(regions) == 1 else ""
