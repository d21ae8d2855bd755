"""A small cluster, to which tests add Helm values and patches."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from gpuc.diagnostics.finding import Finding, StageError
from gpuc.manifest.manifest import Artifact, Manifest, Values
from gpuc.pipeline.fleet import Fleet
from gpuc.pipeline.other_clusters import OtherClusters
from gpuc.pipeline.pipeline import compile_cluster
from gpuc.source import Source
from tests.conftest import ROOT

NAME = "small"
FILE = "specs/small.yaml"
HEAD = Path(__file__).with_name("small.yaml").read_text()
LINES = len(HEAD.splitlines())


def compiled(added: str, layer: str = "") -> tuple[list[Finding], list[Artifact]]:
    """The findings of the small cluster with more keys in its spec, and the artifacts that gpuc sends to the printer.

    Args:
        added: YAML below `spec`, without indentation. Line 1 is line LINES + 1 of the spec.
        layer: YAML below `spec` of the layer that the cluster extends.
    """
    artifacts: list[Artifact] = []

    def send(name: str, part: Sequence[Artifact], source: Source) -> None:
        artifacts.extend(part)

    with TemporaryDirectory() as folder:
        write(Path(folder), added, layer)
        try:
            _, findings = compile_cluster(Path(folder), FILE, Path(folder), send, Fleet(Path(folder)), OtherClusters())
        except StageError as stop:
            return list(stop.findings), artifacts
    return findings, artifacts


def write(root: Path, added: str, layer: str = "") -> None:
    """Writes the files of the small cluster."""
    (root / "specs").mkdir()
    (root / "specs/eks.yaml").write_text((ROOT / "specs/base/eks.yaml").read_text() + indented(layer))
    (root / FILE).write_text(HEAD + indented(added))


def indented(text: str) -> str:
    return "".join(f"  {line}\n" for line in text.splitlines())


@cache
def plain() -> tuple[Artifact, ...]:
    """The artifacts of the small cluster without customizations."""
    findings, artifacts = compiled("")
    assert findings == []
    return tuple(artifacts)


def objects(artifacts: Sequence[Artifact]) -> Mapping[str, Manifest]:
    """The objects by kind, namespace and name."""
    return {str(artifact): artifact for artifact in artifacts if isinstance(artifact, Manifest)}


def values(artifacts: Sequence[Artifact], component: str) -> Values:
    """The Helm values of a component."""
    (found,) = (item for item in artifacts if isinstance(item, Values) and item.component == component)
    return found
