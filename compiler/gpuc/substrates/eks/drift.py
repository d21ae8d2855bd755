"""Computes which nodes Karpenter replaces after a change of a NodePool or an EC2NodeClass, because the nodes drift.

A change of a hashed field replaces all nodes. Karpenter compares each node with the requirements, images, subnets,
security groups and capacity reservations. Other fields apply only to new nodes.

Source: kubernetes-sigs/karpenter v1.14.1 pkg/controllers/nodeclaim/disruption/drift.go; aws/karpenter-provider-aws
v1.14.1 pkg/cloudprovider/drift.go
"""

import json
from collections.abc import Iterator
from enum import Enum
from itertools import chain
from typing import Any

from msgspec import Struct

from gpuc.cluster.instance_labels import TYPE_LABELS, has_all_labels, instance_labels
from gpuc.cluster.node_class import NodeClass
from gpuc.cluster.pool import Pool as NodePool
from gpuc.cluster.pool_fields import REQUIREMENTS
from gpuc.diagnostics.finding import Path
from gpuc.emit.component import components
from gpuc.kubernetes.api_groups import KARPENTER_AWS
from gpuc.kubernetes.node_pool import WELL_KNOWN, is_restricted, is_well_known
from gpuc.kubernetes.selector import ANY, PRESENT, Domain
from gpuc.manifest.manifest import Manifest
from gpuc.model.names import MIG_CONFIG_LABEL, MODE_KEY, PLUGIN_CONFIG_LABEL
from gpuc.objects.object_set import by_first, dig, grouped, items
from gpuc.plan.change import Change, Pair, PoolPair
from gpuc.plan.differences import MISSING, FieldChange
from gpuc.plan.pool_sizes import pool_of
from gpuc.plan.quantities import advertised_changes
from gpuc.substrates.eks.node_hash import hashed_fields

_FIELDS = {
    "userData": "user data",
    "blockDeviceMappings": "volumes",
    "networkInterfaces": "network interfaces",
    "metadataOptions": "instance metadata options",
    "instanceStorePolicy": "instance store policy",
    "kubelet": "kubelet settings",
    "role": "node role",
    "instanceProfile": "instance profile",
    "amiFamily": "AMI family",
    "nodeClassRef": "EC2NodeClass",
    "placementGroupSelector": "placement group",
    "associatePublicIPAddress": "public IP addresses",
    "detailedMonitoring": "detailed monitoring",
}
_VOLUME = {"volumeSize": "volume size", "iops": "volume iops", "throughput": "volume throughput"}
_SETTINGS = {PLUGIN_CONFIG_LABEL: "GPU sharing", MODE_KEY: "sharing mode", MIG_CONFIG_LABEL: "MIG layout"}
_SPEC = ("spec", "template", "spec")
_TAINTS = {"taints": "taint", "startupTaints": "startup taint"}


def field_words(change: Change, pair: Pair, field: FieldChange) -> str:
    """Returns a text about a changed field of a Karpenter object, for example "AMI family AL2023 -> Custom"."""
    steps = [step for step in field.path if step not in ("spec", "template", "metadata")]
    name, last = (str(steps[0]), str(steps[-1])) if steps else ("template", "template")
    if name in _TAINTS:
        return _taint_words(pair, field, _TAINTS[name])
    if name == "userData":
        return _user_data_words(change, pair)
    if name in ("labels", "annotations", "tags") and len(steps) > 1:
        return f"{_SETTINGS.get(last) or f'{name[:-1]} {last}'} {values_text(field)}"
    if name == "blockDeviceMappings" and last in _VOLUME:
        return f"{_VOLUME[last]} {values_text(field)}"
    words = _FIELDS.get(name, name)
    if name == "networkInterfaces":
        return words
    is_short = not any(isinstance(value, dict | list) for value in (field.before, field.after))
    if len(steps) == 1 and is_short:
        return f"{words} {values_text(field)}"
    return f"{words} ({last} {values_text(field)})" if is_short else words


def misfit_words(pair: Pair, field: FieldChange) -> str:
    """Returns which pods fit the old nodes but not the new nodes after a change of a field; empty if all pods fit.

    Startup taints, and taints with the effect PreferNoSchedule, keep no pods away, so they are not counted.

    Source: kubernetes-sigs/karpenter v1.14.1 pkg/controllers/provisioning/scheduling/nodeclaim.go (CanAdd),
    preferences.go (toleratePreferNoScheduleTaints)
    """
    if field.is_below(*_SPEC, "taints"):
        old, new = ({_taint(taint): taint for _, taint in items(value)} for value in pair.values(*_SPEC, "taints"))
        added = [text for text in new if text not in old and dig(new[text], "effect") != "PreferNoSchedule"]
        return f"do not tolerate {' and '.join(added)}" if added else ""
    if field.is_below("spec", "template", "metadata", "labels") and field.before is not MISSING:
        key = str(field.path[-1])
        own = pair.new.offer.get(key) if isinstance(pair, PoolPair) and pair.new else None
        return "" if key in _SETTINGS or (own and own.allows(str(field.before))) else f"select {key}={field.before}"
    return ""


def values_text(field: FieldChange) -> str:
    """Returns the values of a field before and after a change, for example "none -> 3". A missing field is "none"."""
    return " -> ".join("none" if value is MISSING else str(value) for value in (field.before, field.after))


def _taint_words(pair: Pair, field: FieldChange, noun: str) -> str:
    """Returns a text: which taint is added, removed or changed.

    The path contains the index of the taint, unless all taints differ.
    """
    if field.path in ((*_SPEC, "taints"), (*_SPEC, "startupTaints")):
        is_added = field.before is MISSING
        taints = ", ".join(_taint(taint) for _, taint in items(field.after if is_added else field.before))
        return f"{noun} {taints} {'added' if is_added else 'removed'}"
    taint = field.path[:5]
    before, after = pair.values(*taint)
    if field.path == taint:
        value, verb = (field.after, "added") if field.before is MISSING else (field.before, "removed")
        return f"{noun} {_taint(value)} {verb}"
    return f"{noun} {_taint(before if field.after is MISSING else after)} changed"


def _taint(value: Any) -> str:
    key, text, effect = (dig(value, name) for name in ("key", "value", "effect"))
    return f"{key}{f'={text}' if text else ''}:{effect}"


def _user_data_words(change: Change, pair: Pair) -> str:
    """Returns which part of the user data changes: the MIG layout, the script of the spec, or the script of gpuc."""
    before, after = (pool_of(state.cluster, pair.name) for state in (change.before, change.after))
    if before is None or after is None:
        return "user data"
    parts = []
    if after.mig_by_user_data and before.sharing != after.sharing:
        parts.append("MIG layout")
    if before.own_user_data != after.own_user_data:
        parts.append("user data of the spec")
    return " and ".join(parts) or "user data of gpuc"


_TERMS = {
    "subnetSelectorTerms": "subnets",
    "securityGroupSelectorTerms": "security groups",
    "capacityReservationSelectorTerms": "reservations",
}
_LABELS = {
    "node.kubernetes.io/instance-type": "instance types",
    "karpenter.sh/capacity-type": "purchase options",
    "topology.kubernetes.io/zone": "zones",
    "kubernetes.io/arch": "architectures",
}


class Reason(Struct, frozen=True):
    """A reason for the replacement of nodes: a changed field of a NodePool or an EC2NodeClass."""

    words: str
    """A text about the change, for example "image al2023@v20260815 -> al2023@v20260901"."""
    manifest: Manifest
    path: Path
    """The path of the changed field in the object."""
    misfits: str = ""
    """Which pods do not fit the new nodes, for example "need zones us-east-1b"; empty if all pods fit."""


class PoolDrift(Struct, frozen=True):
    """The nodes of one node pool of the spec that Karpenter replaces after a change."""

    name: str
    """The name of the node pool in the spec."""
    pairs: tuple[PoolPair, ...]
    """The NodePools of the node pool whose nodes are replaced: the pool, and the pool of its warm nodes."""
    reasons: tuple[Reason, ...]
    misfits: tuple[str, ...]
    """Which pods do not fit the new nodes, as in Reason."""


class Scope(Enum):
    """How many nodes of a NodePool Karpenter replaces after a change: all nodes, some nodes, or an unknown number."""

    ALL = "all"
    SOME = "some"
    """The nodes with the properties that the reason names."""
    UNKNOWN = "unknown"
    """gpuc does not know which nodes: this depends on the state of AWS or of the cluster."""


def drifts(change: Change, scope: Scope) -> list[PoolDrift]:
    """Returns the node pools in which Karpenter replaces all nodes, some nodes or an unknown number, as `scope` says.

    If a NodePool has several changes, the change that replaces the most nodes decides the scope of the NodePool.
    """
    found: dict[str, list[tuple[PoolPair, list[Reason]]]] = {}
    for pair in change.pools:
        if not pair.is_added and not pair.is_removed:
            by_scope = _reasons(change, pair)
            largest = next((possible for possible in Scope if possible in by_scope), None)
            if largest is scope:
                found.setdefault(pair.element, []).append((pair, by_scope[scope]))
    less = {offer.name for offer in advertised_changes(change) if offer.less} if found else set()
    drifting = []
    for name, parts in found.items():
        reasons = tuple({reason.words: reason for _, own in parts for reason in own}.values())
        misfits = dict.fromkeys(reason.misfits for reason in reasons if reason.misfits)
        if name in less:
            misfits["request more GPUs, slices or shares than a new node offers"] = None
        drifting.append(PoolDrift(name, tuple(pair for pair, _ in parts), reasons, tuple(misfits)))
    return drifting


def _reasons(change: Change, pair: PoolPair) -> dict[Scope, list[Reason]]:
    node_class = change.pair(*pair.new.node_class) if pair.new and pair.new.node_class else None
    changed_class = node_class if node_class is not None and node_class.is_changed else None
    hashed, of_class = _hashed_reasons(change, pair, changed_class), _class_reasons(changed_class)
    return by_first(chain(hashed, _requirement_reasons(pair), of_class))


def _hashed_reasons(change: Change, pool: Pair, node_class: Pair | None) -> Iterator[tuple[Scope, Reason]]:
    """Yields the changes of the hash of the NodePool or of the EC2NodeClass.

    The hash of each EC2NodeClass also has the certificates of the API server.

    Source: aws/karpenter-provider-aws v1.14.1 pkg/apis/v1/ec2nodeclass.go (Hash), pkg/operator/operator.go
    (GetCABundle)
    """
    for pair in (pool, *([node_class] if node_class else [])):
        for field in hashed_fields(pair):
            words = field_words(change, pair, field)
            yield Scope.ALL, Reason(words, pair.holder(field), field.path, misfit_words(pair, field))
    for component in components():
        values = change.values_of(component.name)
        if values is None or not values.is_changed:
            continue
        for name, words in component.hashed_values.items():
            path: Path = tuple(name.split("."))
            before, after = values.values(*path)
            if (before or "") != (after or ""):
                manifest = values.before if after is None and values.before else values.manifest
                yield Scope.ALL, Reason(words, manifest, path)


def _requirement_reasons(pair: PoolPair) -> Iterator[tuple[Scope, Reason]]:
    """Yields the requirements that nodes no longer meet: a node keeps the labels with which it started."""
    old, new = pair.old, pair.new
    if old is None or new is None:
        return
    before, after = (grouped(pool.requirements, lambda row: row.key) for pool in (old, new))
    for key, rows in after.items():
        if [row[1:4] for row in before.get(key, ())] == [row[1:4] for row in rows]:
            continue
        possible, wanted, row = labels_of_nodes(old, key), new.offer.get(key, ANY), rows[-1]
        if (scope := _scope(possible, wanted)) is None:
            continue
        name, path = _LABELS.get(key, f"label {key}"), (*REQUIREMENTS, row.position)
        lost = ", ".join(sorted(value for value in possible.listed or () if not wanted.allows(value)))
        if row.operator == "In" and key in before and lost:
            yield scope, Reason(f"{name} without {lost}", pair.manifest, (*path, "values"), f"need {name} {lost}")
        else:
            words = f"{name} {row.operator} {', '.join(row.values)}".rstrip()
            yield scope, Reason(words, pair.manifest, path, f"need {name} {lost}" if lost else "")


def _scope(possible: Domain, wanted: Domain) -> Scope | None:
    """Returns which nodes do not meet a requirement for a label; None if all nodes meet it.

    Args:
        possible: the possible values of the label of the nodes.

    Source: kubernetes-sigs/karpenter v1.14.1 pkg/scheduling/requirements.go (Compatible)
    """
    if possible.meet(wanted).is_empty:
        return Scope.ALL
    is_missed = possible.absent and not wanted.absent
    if possible.listed is not None:
        return Scope.SOME if is_missed or not all(map(wanted.allows, possible.listed)) else None
    return None if possible.meet(wanted)[1:] == possible[1:] and not is_missed else Scope.UNKNOWN


def labels_of_nodes(pool: NodePool, key: str) -> Domain:
    """Returns the values that a label of the running nodes of a NodePool can have.

    A node has the labels of the template, and the labels that the provider derives from the instance. For each
    requirement with a label of the user, a node has one of the allowed values. If the requirement lists no values, the
    pods choose the value.

    Source: kubernetes-sigs/karpenter v1.14.1 pkg/controllers/provisioning/scheduling/nodeclaimtemplate.go
    (resolveCustomLabelsFromRequirements)
    """
    own = pool.offer.get(key)
    if own is not None and own.listed is not None:
        return own
    if is_well_known(key) or is_restricted(key):
        types = pool.type_names if key in TYPE_LABELS else []
        if types and all(has_all_labels(pool.catalog, name) for name in types):
            values = {instance_labels(pool.catalog, name).get(key) for name in types}
            return Domain(None in values, frozenset(filter(None, values)), False)
        usual = pool.class_offer.get(key) or (PRESENT if key in WELL_KNOWN else ANY)
        return usual.meet(own) if own else usual
    return own._replace(absent=False) if own else Domain(True, frozenset(), False)


def _class_reasons(pair: Pair | None) -> Iterator[tuple[Scope, Reason]]:
    """Yields the changed selectors of an EC2NodeClass. gpuc does not know which resources of AWS match tags."""
    if pair is None:
        return
    before, after = (_images(value) for value in pair.values("spec", "amiSelectorTerms"))
    if set(before) != set(after):
        is_exact = not before.keys() & after.keys() and all((*before.values(), *after.values()))
        words = f"image {', '.join(before)} -> {', '.join(after)}"
        yield Scope.ALL if is_exact else Scope.UNKNOWN, Reason(words, pair.manifest, ("spec", "amiSelectorTerms"))
    for field, name in _TERMS.items():
        old, new = pair.values("spec", field)
        if old != new:
            yield from _selected(pair, field, name)


def _selected(pair: Pair, field: str, name: str) -> Iterator[tuple[Scope, Reason]]:
    """Yields the change of a selector of subnets, security groups or reservations.

    A node has all security groups, and one subnet. A node in no reservation does not drift. Terms are alternatives.
    """
    path, is_exact = ("spec", field), field == "securityGroupSelectorTerms"
    terms = [[term for _, term in items(value)] for value in pair.values(*path)]
    if not is_exact and all(term in terms[1] for term in terms[0]):
        return
    old, new = (NodeClass(KARPENTER_AWS, manifest).ids(field) for manifest in (pair.before, pair.after))
    if old is None or new is None:
        which = ", which all nodes match or none" if is_exact else ""
        yield Scope.UNKNOWN, Reason(f"another selector of {name}{which}", pair.manifest, path)
    elif is_exact:
        if old != new:
            yield Scope.ALL, Reason(f"{name} {', '.join(sorted(new))}", pair.manifest, path)
    elif removed := old - new:
        is_all = field == "subnetSelectorTerms" and not old & new
        words = f"{name} without {', '.join(sorted(removed))}"
        manifest = pair.manifest if pair.values(*path)[1] is not None or pair.before is None else pair.before
        yield Scope.ALL if is_all else Scope.SOME, Reason(words, manifest, path)


def _images(terms: Any) -> dict[str, bool]:
    """Returns the images of selector terms, with whether a term names exactly one image for an instance type.

    Among several images, Karpenter uses the newest image that fits the instance type.

    Source: aws/karpenter-provider-aws v1.14.1 pkg/providers/amifamily/ami.go (MapToInstanceTypes), types.go (Sort)
    """
    found = {}
    for _, term in items(terms):
        name = dig(term, "alias") or dig(term, "id")
        found[str(name or f"by {json.dumps(term, sort_keys=True)}")] = bool(name) and not str(name).endswith("@latest")
    return found
