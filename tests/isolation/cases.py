"""Objects for tests of the isolation: from YAML texts, examples with one mistake, and clusters with many tenants."""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from msgspec.structs import replace

from gpuc.lint.load.loaded_files import LoadedFiles
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet
from tests.conftest import compiled_example


def manifests(text: str) -> list[Manifest]:
    reading = LoadedFiles()
    reading.add("t.yaml", text)
    assert not reading.findings
    return reading.manifests


def tree(text: str, *, is_complete: bool = True) -> ObjectSet:
    return ObjectSet(manifests(text), is_complete=is_complete)


@cache
def synced(example: str) -> tuple[Manifest, ...]:
    return compiled_example(example).synced


def complete(objects: Sequence[Manifest]) -> ObjectSet:
    return ObjectSet(objects, is_complete=True)


def with_changed(objects: Iterable[Manifest], changed: Manifest, **fields: Any) -> list[Manifest]:
    """Returns the objects, in which one object has other fields."""
    return [replace(manifest, **fields) if manifest is changed else manifest for manifest in objects]


def namespace(name: str, tenant: str, level: str = "restricted") -> str:
    return f"""---
apiVersion: v1
kind: Namespace
metadata: {{name: {name}, labels: {{gpuc.dev/tenant: {tenant}, pod-security.kubernetes.io/enforce: {level}}}}}
"""


def policy(space: str, spec: str, name: str = "p", why: str = "") -> str:
    annotations = f", annotations: {{gpuc.dev/why: {why}}}" if why else ""
    return f"""---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {{name: {name}, namespace: {space}{annotations}}}
spec: {spec}
"""


DENY = "{podSelector: {}, policyTypes: [Ingress, Egress]}"


def tenants(count: int, spaces: int = 2) -> str:
    """Returns the objects of a cluster whose tenants are isolated as in the output of gpuc."""
    parts = []
    for number in range(count):
        peer = f"{{namespaceSelector: {{matchLabels: {{gpuc.dev/tenant: t{number}}}}}}}"
        open_to_own = f"ingress: [{{from: [{peer}]}}], egress: [{{to: [{peer}]}}]"
        own = f"{{podSelector: {{}}, policyTypes: [Ingress, Egress], {open_to_own}}}"
        dns = (
            "{podSelector: {}, policyTypes: [Egress], egress: [{ports: [{port: 53, protocol: UDP}], to:"
            " [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: kube-system}},"
            " podSelector: {matchLabels: {k8s-app: kube-dns}}}, {ipBlock: {cidr: 169.254.20.10/32}}]}]}"
        )
        for index in range(spaces):
            name = f"t{number}-{index}"
            parts += [namespace(name, f"t{number}"), policy(name, DENY, "deny"), policy(name, own, "own")]
            parts.append(policy(name, dns, "dns"))
    return "".join(parts)
