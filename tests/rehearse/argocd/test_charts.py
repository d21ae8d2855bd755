"""Charts in a Helm repository and an OCI registry."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest
import yaml

from gpuc.cluster.application import source_in
from gpuc.manifest.manifest import Manifest
from gpuc_rehearsal.argocd.http_handlers import ChartError, Charts, Request, chart_handlers, read_chart

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
    file = tmp_path / "empty.tgz"
    with tarfile.open(file, "w:gz"):
        pass
    with pytest.raises(ChartError, match=r"Chart\.yaml .* is missing"):
        Charts([tmp_path])


def test_a_helm_repository_lists_its_charts_and_gives_each_archive(charts: Charts, tmp_path: Path) -> None:
    answers = chart_handlers(charts, [OPERATOR])["helm.ngc.nvidia.com"]
    listed = yaml.safe_load(answers(Request("GET", "/nvidia/index.yaml", {})).content)
    [row] = listed["entries"]["gpu-operator"]
    archive = answers(Request("GET", f"/nvidia/{row['urls'][0]}", {})).content
    assert (row["version"], row["digest"]) == ("v26.7.0", hashlib.sha256(archive).hexdigest())
    assert archive == (tmp_path / "gpu-operator-v26.7.0.tgz").read_bytes()


def test_a_helm_repository_has_nothing_in_other_folders(charts: Charts) -> None:
    answers = chart_handlers(charts, [OPERATOR])["helm.ngc.nvidia.com"]
    assert answers(Request("GET", "/index.yaml", {})).code == 404
    assert answers(Request("GET", "/nvidia/kueue-0.19.2.tgz", {})).code == 404


def test_a_registry_leads_from_tag_to_archive(charts: Charts, tmp_path: Path) -> None:
    answers = chart_handlers(charts, [KUEUE])["registry.k8s.io"]
    base = "/v2/kueue/charts/kueue"
    tags = json.loads(answers(Request("GET", f"{base}/tags/list", {})).content)["tags"]
    assert tags == ["0.19.2", "0.20.0_build"]
    answer = answers(Request("GET", f"{base}/manifests/{tags[0]}", {}))
    digest = answer.headers["Docker-Content-Digest"]
    assert digest == f"sha256:{hashlib.sha256(answer.content).hexdigest()}"
    assert answers(Request("HEAD", f"{base}/manifests/{digest}", {})).content == answer.content
    [layer] = json.loads(answer.content)["layers"]
    blob = answers(Request("GET", f"{base}/blobs/{layer['digest']}", {}))
    assert blob.content == (tmp_path / "kueue-0.19.2.tgz").read_bytes()
    assert len(blob.content) == layer["size"]


@pytest.mark.parametrize(
    "path", ["/v2/other/charts/kueue/tags/list", "/v2/kueue/charts/kueue/manifests/9.9.9", "/v2/kueue/charts/kueue"]
)
def test_a_registry_answers_404_for_an_unknown_chart(charts: Charts, path: str) -> None:
    assert chart_handlers(charts, [KUEUE])["registry.k8s.io"](Request("GET", path, {})).code == 404


def test_a_registry_answers_that_it_is_one(charts: Charts) -> None:
    assert chart_handlers(charts, [KUEUE])["registry.k8s.io"](Request("GET", "/v2/", {})).code == 200
