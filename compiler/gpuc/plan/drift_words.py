"""The changes that replace nodes, in the words of the spec."""

from __future__ import annotations

from typing import Any

from gpuc.model.names import MIG_CONFIG_LABEL, MODE_KEY, PLUGIN_CONFIG_LABEL
from gpuc.objects.object_set import dig, items
from gpuc.plan.change import Change, Pair
from gpuc.plan.difference import MISSING, FieldChange
from gpuc.plan.replacement import pool_of

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
_LABELS = {PLUGIN_CONFIG_LABEL: "GPU sharing", MODE_KEY: "sharing mode", MIG_CONFIG_LABEL: "MIG layout"}
_SPEC = ("spec", "template", "spec")
_TAINTS = {"taints": "taint", "startupTaints": "startup taint"}


def field_words(change: Change, pair: Pair, field: FieldChange) -> str:
    """Returns a changed field of a NodePool or an EC2NodeClass in words, with the values if they are short."""
    steps = [step for step in field.path if step not in ("spec", "template", "metadata")]
    name, last = (str(steps[0]), str(steps[-1])) if steps else ("template", "template")
    if name in _TAINTS:
        return _taint_words(pair, field, _TAINTS[name])
    if name == "userData":
        return _user_data_words(change, pair)
    if name in ("labels", "annotations", "tags") and len(steps) > 1:
        return f"{_LABELS.get(last) or f'{name[:-1]} {last}'} {values_text(field)}"
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
    """Returns which pods fit the old nodes and not the new nodes; an empty string if all pods fit.

    Karpenter ignores startup taints, and lets pods run in spite of the effect PreferNoSchedule.

    Source: kubernetes-sigs/karpenter v1.14.1 pkg/controllers/provisioning/scheduling/nodeclaim.go (CanAdd),
    preferences.go (toleratePreferNoScheduleTaints)
    """
    if field.is_below(*_SPEC, "taints"):
        old, new = ({_taint(taint): taint for _, taint in items(value)} for value in pair.values(*_SPEC, "taints"))
        added = [text for text in new if text not in old and dig(new[text], "effect") != "PreferNoSchedule"]
        return f"do not tolerate {' and '.join(added)}" if added else ""
    if field.is_below("spec", "template", "metadata", "labels") and field.before is not MISSING:
        key = str(field.path[-1])
        return "" if key in _LABELS else f"select {key}={field.before}"
    return ""


def values_text(field: FieldChange) -> str:
    """Returns the values before and after a change; "none" where the field does not exist."""
    return " -> ".join("none" if value is MISSING else str(value) for value in (field.before, field.after))


def _taint_words(pair: Pair, field: FieldChange, noun: str) -> str:
    """Returns which taint is added, removed or changed. The path has the number of the taint, or all taints differ."""
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
