"""Applies the Helm values and patches of a spec to the artifacts of one emitter at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from gpuc.customize.patches import SECTION, Patches
from gpuc.customize.values import ComponentValues, values_path
from gpuc.diagnostics.finding import Finding, Path
from gpuc.manifest.manifest import Artifact, Manifest, Values
from gpuc.model import Cluster

TEMPLATES = "workloads/"
"""The folder below out/<cluster>/ with the workload templates. Users copy them, Argo CD does not sync them."""


@dataclass
class Customizer:
    """The Helm values and patches in the spec of a cluster. If there are none, artifacts do not change."""

    cluster: Cluster
    without: Path = ()
    """The spec path of a customization to leave out; empty for none."""
    _values: ComponentValues = field(init=False)
    _patches: Patches = field(init=False)

    def __post_init__(self) -> None:
        spec = self.cluster.spec
        settings = {
            name: component
            for name, component in spec.components.items()
            if component.values and values_path(name) != self.without
        }
        patches = {index: patch for index, patch in enumerate(spec.patches) if (*SECTION, index) != self.without}
        self._values = ComponentValues(self.cluster.name, settings)
        self._patches = Patches(patches, self.cluster.out(TEMPLATES))

    @property
    def entries(self) -> tuple[Path, ...]:
        """The paths in the spec of all Helm values of components, and of all patches."""
        values = (values_path(name) for name in self._values.settings)
        return (*values, *((*SECTION, index) for index in self._patches.patches))

    def apply(self, artifacts: Sequence[Artifact]) -> list[Artifact]:
        """Returns the artifacts of an emitter, changed by the Helm values and patches."""
        merged = (self._values.apply(part) if isinstance(part, Values) else part for part in artifacts)
        return [self._patches.apply(part) if isinstance(part, Manifest) else part for part in merged]

    def findings(self, artifacts: Sequence[Artifact]) -> Iterator[Finding]:
        """Yields the findings about Helm values and patches. Call `apply` for all artifacts first.

        Args:
            artifacts: all artifacts of the cluster.
        """
        yield from self._values.findings(artifacts)
        yield from self._patches.findings()
