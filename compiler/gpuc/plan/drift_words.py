"""The changes that replace nodes, in the words of the spec."""

from __future__ import annotations

from typing import Any

from gpuc.model import Pool
from gpuc.model.names import MIG_CONFIG_LABEL, MODE_KEY, PLUGIN_CONFIG_LABEL
from gpuc.objects.object_set import dig
from gpuc.plan.change import Change, Pair
from gpuc.plan.difference import MISSING, FieldChange

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
_TAINTS = {"taints": "taint", "startupTaints": "startup taint"}


def field_words(change: Change, pair: Pair, field: FieldChange) -> str:
    """Returns a changed field of a NodePool or an EC2NodeClass in words, with the values if they are short."""
    steps = [step for step in field.path if step not in ("spec", "template", "metadata")]
    name, last = str(steps[0]), str(steps[-1])
    if name in _TAINTS and len(steps) > 1:
        return _taint_words(pair, field, _TAINTS[name])
    if name == "userData":
        return _user_data_words(change, pair)
    if name in ("labels", "annotations", "tags") and len(steps) > 1:
        return f"{_LABELS.get(last) or f'{name[:-1]} {last}'} {values_text(field)}"
    if name == "blockDeviceMappings" and last in _VOLUME:
        return f"{_VOLUME[last]} {values_text(field)}"
    words = _FIELDS.get(name, name)
    is_short = not any(isinstance(value, dict | list) for value in (field.before, field.after))
    if len(steps) == 1 and is_short:
        return f"{words} {values_text(field)}"
    return f"{words} ({last} {values_text(field)})" if is_short else words


def values_text(field: FieldChange) -> str:
    """Returns the values before and after a change; "none" where the field does not exist."""
    return " -> ".join("none" if value is MISSING else str(value) for value in (field.before, field.after))


def _taint_words(pair: Pair, field: FieldChange, noun: str) -> str:
    """Returns which taint is added, removed or changed. The third step below spec is the number of the taint."""
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
    before, after = (_pool(state.cluster, pair.name) for state in (change.before, change.after))
    if before is None or after is None:
        return "user data"
    parts = []
    if after.mig_by_user_data and before.sharing != after.sharing:
        parts.append("MIG layout")
    if before.own_user_data != after.own_user_data:
        parts.append("user data of the spec")
    return " and ".join(parts) or "user data of gpuc"


def _pool(cluster: Any, name: str) -> Pool | None:
    return next((pool for pool in cluster.pools if pool.name == name), None) if cluster else None
