"""Charts in a Helm repository and an OCI registry."""

import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest
import yaml

from gpuc.cluster.application import source_in
from gpuc.manifest.manifest import Manifest
from gpuc_rehearsal.argocd.charts import ChartError, Charts, read_chart

APPLICATION = Manifest("", (), "argoproj.io/v1alpha1", "Application", "a", {})
KUEUE, OPERATOR = (
    source_in(APPLICATION, (), {"repoURL": url, "chart": name})
    for url, name in (
        ("registry.k8s.io/kueue/charts", "kueue"),
        ("https://helm.ngc.nvidia.com/nvidia", "gpu-operator"),
    )
)


def packaged(folder: Path, name: str, version: str) -> Path:
    file = folder / f"{name}-{version}.tgz"
    content = yaml.safe_dump({"apiVersion": "v2", "name": name, "version": version}).encode()
    with tarfile.open(file, "w:gz") as archive:
        entry = tarfile.TarInfo(f"{name}/Chart.yaml")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return file


@pytest.fixture
def charts(tmp_path: Path) -> Charts:
    for name, version in (("kueue", "0.19.2"), ("kueue", "0.20.0+build"), ("gpu-operator", "v26.7.0")):
        packaged(tmp_path, name, version)
    return Charts([tmp_path])


def test_a_chart_is_found_with_or_without_the_v_of_its_version(charts: Charts) -> None:
    assert charts.find("gpu-operator", "26.7.0") is not None
    assert charts.find("kueue", "v0.19.2") is not None
    assert charts.find("kueue", "0.19.3") is None


@pytest.mark.parametrize("length", [60, 3])
def test_a_truncated_archive_is_an_error(length: int, tmp_path: Path) -> None:
    """An interrupted `helm pull` leaves a truncated archive. The first bytes alone are no archive at all."""
    file = packaged(tmp_path, "kueue", "0.19.2")
    file.write_bytes(file.read_bytes()[:length])
    with pytest.raises(ChartError, match=r"kueue-0\.19\.2\.tgz is not a chart"):
        read_chart(file)


def test_an_archive_without_a_chart_is_an_error(tmp_path: Path) -> None:
    tarfile.open(tmp_path / "empty.tgz", "w:gz").close()
    with pytest.raises(ChartError, match=r"Chart\.yaml .* is missing"):
        Charts([tmp_path])


def test_a_helm_repository_lists_its_charts_and_gives_each_archive(charts: Charts, tmp_path: Path) -> None:
    files = charts.files([OPERATOR])["helm.ngc.nvidia.com"]
    assert files.keys() == {"nvidia/index.yaml", "nvidia/gpu-operator-v26.7.0.tgz"}
    [row] = yaml.safe_load(files["nvidia/index.yaml"].content)["entries"]["gpu-operator"]
    archive = files[f"nvidia/{row['urls'][0]}"].content
    assert (row["version"], row["digest"]) == ("v26.7.0", hashlib.sha256(archive).hexdigest())
    assert archive == (tmp_path / "gpu-operator-v26.7.0.tgz").read_bytes()


def test_a_registry_leads_from_tag_to_archive(charts: Charts, tmp_path: Path) -> None:
    files = charts.files([KUEUE])["registry.k8s.io"]
    assert all(name == "v2" or name.startswith("v2/kueue/charts/kueue/") for name in files)
    base = "v2/kueue/charts/kueue"
    tags = json.loads(files[f"{base}/tags/list"].content)["tags"]
    assert tags == ["0.19.2", "0.20.0_build"]
    manifest = files[f"{base}/manifests/{tags[0]}"]
    assert files[f"{base}/manifests/{manifest.digest}"] is manifest
    [layer] = json.loads(manifest.content)["layers"]
    blob = files[f"{base}/blobs/{layer['digest']}"]
    assert blob.content == (tmp_path / "kueue-0.19.2.tgz").read_bytes()
    assert len(blob.content) == layer["size"]
