"""What a compiled cluster asks of Argo CD: repositories, charts and destinations, read from its Applications."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from gpuc.manifest.manifest import Manifest

IN_CLUSTER = "https://kubernetes.default.svc"
"""The server by which Argo CD means its own cluster."""
GROUPS = {
    "gatekeeper": (
        "config.gatekeeper.sh",
        "constraints.gatekeeper.sh",
        "expansion.gatekeeper.sh",
        "templates.gatekeeper.sh",
    ),
    "gpu-operator": ("nvidia.com",),
    "karpenter": ("karpenter.k8s.aws", "karpenter.sh"),
    "karpenter-crd": ("karpenter.k8s.aws", "karpenter.sh"),
    "kueue": ("kueue.x-k8s.io",),
}
"""API groups whose objects need a chart: the chart brings the kinds, or the controller that makes them healthy."""


@dataclass(frozen=True)
class ChartSource:
    """A chart as a source of an Application names it."""

    repository: str
    """repoURL: https://... is a Helm repository, anything else is a repository of an OCI registry."""
    name: str
    version: str

    @property
    def is_oci(self) -> bool:
        return not self.repository.startswith(("https://", "http://"))

    @property
    def host(self) -> str:
        return _split(self.repository)[0]

    @property
    def path(self) -> str:
        """The path below the host, without slashes at its ends."""
        return _split(self.repository)[1]


@dataclass(frozen=True)
class GitSource:
    """A folder of a Git repository as a source of an Application names it."""

    url: str
    revision: str
    path: str

    @property
    def host(self) -> str:
        return _split(self.url)[0]

    @property
    def repository(self) -> str:
        """The path of the repository below the host."""
        return _split(self.url)[1]


@dataclass(frozen=True)
class Destination:
    """The cluster that an Application applies to: by the address of its API server or by name."""

    server: str
    name: str

    @property
    def is_own(self) -> bool:
        """Whether the destination is the cluster that Argo CD runs in."""
        return self.server == IN_CLUSTER or (not self.server and self.name == "in-cluster")


def applications(synced: Iterable[Manifest]) -> list[Manifest]:
    """The Applications among the objects of a cluster."""
    return [manifest for manifest in synced if manifest.kind == "Application"]


def sources(spec: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """All sources of an Application's spec."""
    return [spec["source"]] if "source" in spec else list(spec.get("sources", ()))


def chart_of(spec: Mapping[str, Any]) -> ChartSource | None:
    """The chart of an Application's spec; None where it has none."""
    for source in sources(spec):
        if "chart" in source:
            return ChartSource(source["repoURL"], source["chart"], str(source["targetRevision"]))
    return None


def git_sources(spec: Mapping[str, Any]) -> Iterator[GitSource]:
    """Sources of Git in an Application's spec."""
    for source in sources(spec):
        if "chart" not in source:
            yield GitSource(source["repoURL"], str(source["targetRevision"]), source.get("path", ""))


def destination(spec: Mapping[str, Any]) -> Destination:
    """Where an Application's spec applies to."""
    found = spec["destination"]
    return Destination(found.get("server", ""), found.get("name", ""))


def namespaces_of_charts(synced: Iterable[Manifest]) -> dict[str, str]:
    """Namespace by name of the chart that is installed there."""
    found = {}
    for application in applications(synced):
        if chart := chart_of(application.body["spec"]):
            found[chart.name] = str(application.body["spec"]["destination"]["namespace"])
    return found


def missing_namespaces(synced: Iterable[Manifest]) -> list[str]:
    """Namespaces of destinations that no Application makes: an operator makes them before the first sync."""
    wanted: set[str] = set()
    made = {"default", "kube-system"}
    for application in applications(synced):
        spec = application.body["spec"]
        options = spec["syncPolicy"].get("syncOptions", ())
        (made if "CreateNamespace=true" in options else wanted).add(str(spec["destination"]["namespace"]))
        made.add(application.namespace)
    return sorted(wanted - made)


def _split(url: str) -> tuple[str, str]:
    parts = urlsplit(url if "//" in url else f"//{url}")
    return parts.netloc, parts.path.strip("/")
