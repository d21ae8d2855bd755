"""Rules about the kinds of workloads that components define, and the kinds that Kueue manages."""

from gpuc.diagnostics.finding import Path, Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, Found, rule

FRAMEWORKS: Path = ("spec", "kueue", "frameworks")


@rule("CMP003")
def missing_component(cluster: Cluster) -> Findings:
    """A component does not work without another component, which the cluster does not have."""
    for name, release in cluster.components.items():
        for other in release.requires:
            if other not in cluster.components:
                message = f"component {name} is there without component {other}; expected both"
                fix = f"add {other}: {{}} to components; with {{managed: false}} if another team installs {other}"
                yield Found(("spec", "components", name), message, fix, on_key=True)


@rule("CMP103", Severity.WARNING)
def kind_without_controller(cluster: Cluster) -> Findings:
    """Kueue manages a kind of workloads, but the cluster does not have the component with its controller."""
    releases = cluster.catalog.releases[cluster.spec.releases.set]
    known = {kind: name for name, release in releases.items() for kind in release.frameworks}
    for index, kind in enumerate(cluster.spec.kueue.frameworks or ()):
        name = known.get(kind, "")
        if name and name not in cluster.components and kind not in cluster.spec.kueue.controllers:
            message = f"kueue.frameworks contains {kind}, but the cluster does not have component {name}"
            fix = f"add {name}: {{}} to components; with {{managed: false}} if another team installs the controller"
            yield Found((*FRAMEWORKS, index), message, fix)


@rule("CMP104", Severity.WARNING)
def component_outside_of_kueue(cluster: Cluster) -> Findings:
    """A component defines a kind of workloads that Kueue does not manage."""
    for name, release in cluster.components.items() if cluster.queues else ():
        if left_out := ", ".join(kind for kind in release.frameworks if kind not in cluster.frameworks):
            message = f"kueue.frameworks does not contain {left_out} of component {name}; expected all of its kinds"
            yield Found(FRAMEWORKS, message, f"add {left_out} to kueue.frameworks", on_key=True)
