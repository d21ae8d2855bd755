"""Finds objects that gpuc emits twice, empty values without a meaning, and user data that EC2 refuses."""

from collections.abc import Iterator, Sequence
from typing import Any

from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.spec.node_settings import USER_DATA_MAX
from gpuc.verify import Findings, check
from gpuc.verify.subject import Subject

KARPENTER_BYTES = 4096
"""Space for the part of Karpenter: the certificate of the API server (1.5 KiB), labels and taints of the node."""
_MEANINGFUL = frozenset(
    {
        "automated", "clusterResourceWhitelist", "egress", "emptyDir", "endpointSelector", "ingress",
        "labelSelector", "namespaceResourceWhitelist", "namespaceSelector", "podSelector", "selector", "torch",
    }
)  # fmt: skip
"""Fields whose empty value has a meaning: to select everything, to allow nothing, or to use the default volume."""
_RULES = ("egress", "ingress")
"""Lists of rules of NetworkPolicies. An empty rule allows all traffic."""
_PARAMETERS = ("spec", "parameters")
"""The path of a constraint's parameters. The policy may compare values with an empty list."""
_SCHEMA = "openAPIV3Schema"
"""The key of a schema. Empty values in a schema are valid."""


@check("KRP146")
def large_user_data(subject: Subject) -> Findings:
    """The user data of a node is larger than EC2 allows."""
    for manifest in subject.objects.of("karpenter.k8s.aws", "EC2NodeClass"):
        text = manifest.body.get("spec", {}).get("userData")
        if not isinstance(text, str) or len(text.encode()) + KARPENTER_BYTES <= USER_DATA_MAX:
            continue
        message = f"has {len(text.encode())} bytes; expected at most {USER_DATA_MAX - KARPENTER_BYTES}"
        reason = f"EC2 allows {USER_DATA_MAX}, and Karpenter adds up to {KARPENTER_BYTES}"
        yield ObjectFinding(large_user_data.rule, manifest, ("spec", "userData"), f"{message}, because {reason}")


@check("SCH007")
def meaningless_value(subject: Subject) -> Findings:
    """An object has a null, or an empty map or list that has no meaning."""
    for manifest in subject.objects.manifests:
        for path in _empties(manifest.body):
            yield ObjectFinding(meaningless_value.rule, manifest, path, "null or empty: remove the field")


def _empties(body: dict[str, Any]) -> Iterator[tuple[str | int, ...]]:
    """Yields the paths of nulls and of empty maps and lists that have no meaning."""
    waiting: list[tuple[tuple[str | int, ...], Any]] = [((), body)] if body else []
    while waiting:
        path, value = waiting.pop()
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for step, child in items:
            if child is None:
                yield (*path, step)
            elif isinstance(child, (dict, list)):
                if child:
                    if step != _SCHEMA:
                        waiting.append(((*path, step), child))
                elif not _is_meaningful(path, step) and path[:2] != _PARAMETERS:
                    yield (*path, step)


def _is_meaningful(path: tuple[str | int, ...], step: str | int) -> bool:
    return path[-1] in _RULES if isinstance(step, int) and path else step in _MEANINGFUL


@check("SCH008")
def object_twice(subject: Subject) -> Findings:
    """gpuc emits an object twice, or does not emit the objects of an output file directly after each other."""
    yield from _duplicates(subject.objects.manifests)
    yield from _interleaved(subject.objects.manifests)


def _duplicates(manifests: Sequence[Manifest]) -> Findings:
    first: dict[tuple[str, str, str, str], Manifest] = {}
    for manifest in manifests:
        group = manifest.api.rpartition("/")[0]
        before = first.setdefault((group, manifest.kind, manifest.namespace, manifest.name), manifest)
        if before is not manifest:
            yield ObjectFinding(object_twice.rule, manifest, (), f"{before.file} already contains this object")


def _interleaved(manifests: Sequence[Manifest]) -> Findings:
    ended: set[str] = set()
    current = ""
    for manifest in manifests:
        if manifest.file != current:
            if manifest.file in ended:
                message = f"objects of {current} separate this object from the other objects of its file"
                yield ObjectFinding(object_twice.rule, manifest, (), message)
            ended.add(current)
            current = manifest.file
