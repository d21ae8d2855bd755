"""Argo CD Applications as values."""

from typing import Any

import pytest

from gpuc.cluster.application import Application, Destination, application_in
from gpuc.cluster.namespace import namespaces
from gpuc.cluster.repository_url import normalized_url
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import NAMESPACE_NAME, ObjectSet
from tests.tables import table

CASES = table(__file__, "test_application.yaml")

FOLDER, CHART = {"repoURL": "https://a/fleet", "path": "rendered/prod/queues"}, {"repoURL": "b", "chart": "kueue"}


def manifest(kind: str = "Application", **spec: Any) -> Manifest:
    body: Any = {"spec": spec if kind == "Application" else {"template": {"spec": spec}}}
    return Manifest("", (), "argoproj.io/v1alpha1", kind, "a", body)


def application(**spec: Any) -> Application:
    return application_in(manifest(**spec))


@pytest.mark.parametrize(
    ("spec", "paths"),
    [
        ({"source": FOLDER}, [("spec", "source")]),
        ({"sources": [CHART, FOLDER]}, [("spec", "sources", 0), ("spec", "sources", 1)]),
        ({"sources": [CHART], "source": FOLDER}, [("spec", "sources", 0)]),
        ({"sources": [], "source": FOLDER}, [("spec", "source")]),
        ({"sourceHydrator": {}, "sources": [CHART], "source": FOLDER}, [("spec", "sourceHydrator", "syncSource")]),
        ({}, []),
    ],
)
def test_sources_come_before_the_single_source(spec: dict[str, Any], paths: list[tuple[str | int, ...]]) -> None:
    assert [source.path for source in application(**spec).sources] == paths


def test_the_source_hydrator_writes_the_synced_folder() -> None:
    dry, sync = {"repoURL": "https://a/dry", "path": "charts"}, {"targetBranch": "env/prod", "path": "prod"}
    (source,) = application(sourceHydrator={"drySource": dry, "syncSource": sync}).sources
    assert (source.url, source.revision, source.folder) == ("https://a/dry", "env/prod", "prod")
    (source,) = application(sourceHydrator={"drySource": dry, "syncSource": {**sync, "repoURL": "https://b"}}).sources
    assert source.url == "https://b"


def test_an_application_set_has_its_sources_in_the_template() -> None:
    (source,) = application_in(manifest("ApplicationSet", source=CHART)).sources
    assert (source.path, source.chart) == (("spec", "template", "spec", "source"), "kueue")


@pytest.mark.parametrize(("file", "recursive", "expected"), CASES["the_files_that_a_source_syncs"])
def test_the_files_that_a_source_syncs(file: str, recursive: bool, expected: bool) -> None:
    (source,) = application(source={**FOLDER, "directory": {"recurse": recursive}}).sources
    assert source.syncs(file) is expected
    assert not application(source=CHART).sources[0].syncs(file)


@pytest.mark.parametrize(("url", "expected"), CASES["forms_of_a_url"])
def test_forms_of_a_url(url: str, expected: str) -> None:
    assert normalized_url(url) == expected


def test_an_invalid_url_is_equal_only_to_itself() -> None:
    (source,) = application(source={"repoURL": "https://{{host}}/fleet"}).sources
    assert source.repository == source.url


def test_the_cluster_of_argo_cd_has_one_name() -> None:
    own = [Destination("https://kubernetes.default.svc"), Destination("", "in-cluster")]
    assert [(destination.is_own, destination.cluster) for destination in own] == [(True, own[0].server)] * 2
    assert Destination("", "prod").cluster == "prod"


def test_a_namespace_of_an_application_has_its_name_and_its_labels() -> None:
    policy = {"syncOptions": ["CreateNamespace=true"], "managedNamespaceMetadata": {"labels": {"a": "b"}}}
    made = manifest(destination={"namespace": "made"}, syncPolicy=policy)
    known = namespaces(ObjectSet([made, manifest(destination={"namespace": "found"})], is_complete=True))
    assert known.known_labels("made") == {NAMESPACE_NAME: "made", "a": "b"}
    assert known.known_labels("default") == {NAMESPACE_NAME: "default"}
    assert known.known_labels("other") is None
    assert known.created >= {"made", "default"}
    assert "found" in known.named - known.created
