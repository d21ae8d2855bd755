"""Reads repositories, charts and destinations from the Applications of a compiled cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from gpuc.manifest.manifest import Manifest

IN_CLUSTER = "https://kubernetes.default.svc"
"""The server address that Argo CD uses for the cluster in which Argo CD runs."""
CHART_GROUPS = {
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
"""API groups by name of the chart that installs the group's CRDs or controller."""


@dataclass(frozen=True)
class ChartSource:
    """A Helm chart as the source of an Application."""

    repository: str
    """The repoURL. An http:// or https:// URL is a Helm repository; other URLs are repositories of OCI registries."""
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
        """The path of the repository on the host, without slashes at the start and the end."""
        return _split(self.repository)[1]


@dataclass(frozen=True)
class GitSource:
    """A folder of a Git repository as the source of an Application."""

    url: str
    revision: str
    path: str

    @property
    def host(self) -> str:
        return _split(self.url)[0]

    @property
    def repository(self) -> str:
        """The path of the repository on the host."""
        return _split(self.url)[1]


@dataclass(frozen=True)
class Destination:
    """The destination cluster of an Application, given as the address of the API server or as a name."""

    server: str
    name: str

    @property
    def is_own(self) -> bool:
        """Whether the destination is the cluster in which Argo CD runs."""
        return self.server == IN_CLUSTER or (not self.server and self.name == "in-cluster")


def applications(synced: Iterable[Manifest]) -> list[Manifest]:
    """Returns the Applications among the synced objects of a cluster."""
    return [manifest for manifest in synced if manifest.kind == "Application"]


def sources(spec: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Returns all sources of an Application's spec."""
    return [spec["source"]] if "source" in spec else list(spec.get("sources", ()))


def chart_of(spec: Mapping[str, Any]) -> ChartSource | None:
    """Returns the first chart among the sources of an Application's spec, or None."""
    for source in sources(spec):
        if "chart" in source:
            return ChartSource(source["repoURL"], source["chart"], str(source["targetRevision"]))
    return None


def git_sources(spec: Mapping[str, Any]) -> Iterator[GitSource]:
    """Yields the Git sources of an Application's spec."""
    for source in sources(spec):
        if "chart" not in source:
            yield GitSource(source["repoURL"], str(source["targetRevision"]), source.get("path", ""))


def destination_of(spec: Mapping[str, Any]) -> Destination:
    """Returns the destination of an Application's spec."""
    fields = spec["destination"]
    return Destination(fields.get("server", ""), fields.get("name", ""))


def namespaces_of_charts(synced: Iterable[Manifest]) -> dict[str, str]:
    """Returns the destination namespaces of charts, by name of the chart."""
    by_chart = {}
    for application in applications(synced):
        if chart := chart_of(application.body["spec"]):
            by_chart[chart.name] = str(application.body["spec"]["destination"]["namespace"])
    return by_chart


def missing_namespaces(synced: Iterable[Manifest]) -> list[str]:
    """Returns destination namespaces that no Application creates, so an operator creates them before the first sync."""
    required: set[str] = set()
    created = {"default", "kube-system"}
    for application in applications(synced):
        spec = application.body["spec"]
        options = spec["syncPolicy"].get("syncOptions", ())
        (created if "CreateNamespace=true" in options else required).add(str(spec["destination"]["namespace"]))
        created.add(application.namespace)
    return sorted(required - created)


def _split(url: str) -> tuple[str, str]:
    parts = urlsplit(url if "//" in url else f"//{url}")
    return parts.netloc, parts.path.strip("/")
