"""Reads ServiceMonitors and PodMonitors, which select the targets from which Prometheus reads metrics."""

from collections.abc import Mapping

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.selector import matches
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet, dig, home_namespace, items
from gpuc.objects.selectors import selector, wanted_labels

MONITORING = "monitoring.coreos.com"
"""The API group of monitors."""
TARGETS = {"ServiceMonitor": "services", "PodMonitor": "pods"}
"""The objects that a monitor selects, by the kind of the monitor: a plural noun for messages."""
Wanted = tuple[Path, str, list[str]]
"""The path, the key and the allowed values of a label."""
_NAMES: Path = ("spec", "namespaceSelector", "matchNames")


class Monitor:
    """A ServiceMonitor, which selects Services, or a PodMonitor, which selects pods.

    Source: prometheus-operator v0.93 pkg/apis/monitoring/v1, ServiceMonitorSpec and NamespaceSelector
    """

    def __init__(self, manifest: Manifest) -> None:
        raw = dig(manifest.body, "spec", "selector")
        self.manifest = manifest
        self.kind = manifest.kind
        self.targets = TARGETS[manifest.kind]
        self.selector = selector(raw)
        self.wanted: list[Wanted] = list(wanted_labels(raw, ("spec", "selector")))
        """The labels that a target must have."""
        self.is_everywhere = dig(manifest.body, "spec", "namespaceSelector", "any") is True
        """Whether the monitor selects targets in all namespaces."""
        self.named: list[tuple[Path, str]] = [
            ((*_NAMES, number), name) for number, name in items(dig(manifest.body, *_NAMES)) if isinstance(name, str)
        ]
        """The path and the name of every namespace that the monitor names."""
        self.namespaces = [name for _, name in self.named] or [home_namespace(manifest)]
        """The namespaces of the targets, unless the monitor selects targets in all namespaces."""
        is_set = isinstance(dig(manifest.body, *_NAMES[:-1]), dict)
        self.namespaces_path = _NAMES if self.named else _NAMES[:-1] if is_set else _NAMES[:1]
        """The path of the field that selects the namespaces."""
        self.ports: list[tuple[Path, str]] = [
            (("spec", "endpoints", number, "port"), name)
            for number, endpoint in items(dig(manifest.body, "spec", "endpoints"))
            if isinstance(name := dig(endpoint, "port"), str)
        ]
        """The path and the name of every port of a Service that Prometheus scrapes; empty for a PodMonitor."""

    def reads(self, namespace: str) -> bool:
        """Returns whether the monitor selects targets in a namespace."""
        return self.is_everywhere or namespace in self.namespaces

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Returns whether the label selector of the monitor matches these labels of a Service or pod."""
        return matches(self.selector, labels)


def monitors(objects: ObjectSet) -> tuple[Monitor, ...]:
    """Returns the ServiceMonitors and then the PodMonitors in a set of objects."""
    return tuple(Monitor(manifest) for kind in TARGETS for manifest in objects.of(MONITORING, kind))
