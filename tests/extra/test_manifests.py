"""Manifests of users: the output, the files that gpuc reads and refuses, and the AppProjects."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuc.pipeline.pipeline import check_specs
from gpuc.pipeline.stages import compiled_spec
from tests.extra.fleet import FOLDER, SPEC, checked, compiled, places, write_fleet, write_manifest
from tests.tables import table

CONFIG, DEPLOYMENT = table(__file__, "manifests.yaml").values()


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fleet with a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return write_fleet(tmp_path / "fleet")


def config(namespace: str) -> str:
    return CONFIG.replace("NAMESPACE", namespace)


def stale(root: Path) -> list[str]:
    """The rule ids that `gpuc check --fresh` reports."""
    return [finding.id for finding in check_specs(root, None, root, True, lambda step: None).findings]


def documents(root: Path, file: str) -> list[Any]:
    """The documents of an output file, below out/dev-use1/."""
    return list(yaml.safe_load_all((root / "out/dev-use1" / file).read_text()))


def test_objects_keep_their_values_and_the_order_of_their_fields(fleet: Path) -> None:
    write_manifest(fleet, "search/web.yaml", f"{config('search-lab')}---\n{DEPLOYMENT}")
    assert compiled(fleet).findings == ()
    text = config("search-lab")
    assert documents(fleet, "extra/search/web.yaml") == list(
        yaml.safe_load_all(f"{text.replace('yes:', chr(34) + 'true' + chr(34) + ':')}---\n{DEPLOYMENT}")
    )
    first, second = documents(fleet, "extra/search/web.yaml")
    assert list(first["data"]) == ["zeta", "alpha", "true", "mode", "y"] and list(second)[:2] == ["kind", "apiVersion"]
    assert list(first["metadata"]["labels"]) == ["zone", "app"]
    printed = (fleet / "out/dev-use1/extra/search/web.yaml").read_text()
    assert '"y": "n"' in printed, "for Kubernetes, y and n without quotes are booleans"


@pytest.mark.slow
def test_the_lock_names_the_files_of_users(fleet: Path) -> None:
    write_manifest(
        fleet, "search/web.yaml", DEPLOYMENT.replace("configMap: {name: app, defaultMode: 0440}", "emptyDir: {}")
    )
    compiled(fleet)
    spec = compiled_spec(fleet, SPEC)
    manifest = next(manifest for manifest in spec.synced if manifest.written)
    assert str(spec.locate(manifest, ("spec", "replicas"))) == f"{FOLDER}/search/web.yaml:5:13"
    lock = (fleet / "out/dev-use1/gpuc.lock").read_text()
    assert f'"path": ["spec", "tenants", "search"], "spec": "{FOLDER}/search/web.yaml"' in lock


@pytest.mark.slow
def test_a_compile_notices_every_change_of_a_manifest(fleet: Path) -> None:
    """The compile cache and gpuc.lock must not hide an edit, a new file or a removed file."""
    output = fleet / "out/dev-use1/extra/app.yaml"
    write_manifest(fleet, "app.yaml", config("search"))
    compiled(fleet)
    assert compiled(fleet).written == ()
    write_manifest(fleet, "app.yaml", config("search").replace("two", "three"))
    assert stale(fleet) == ["WRT008", "WRT010"]
    assert "three" not in output.read_text()
    assert compiled(fleet).written == ("out/dev-use1/extra/app.yaml", "out/dev-use1/gpuc.lock")
    assert "three" in output.read_text()
    write_manifest(fleet, "app.yaml", config("search").replace("ConfigMap", "Secret"))
    assert "MAN005" in [finding.id for finding in checked(fleet)]
    (fleet / FOLDER / "app.yaml").unlink()
    removed = compiled(fleet).removed
    assert {"out/dev-use1/apps/extra.yaml", "out/dev-use1/extra/app.yaml"} == set(removed) and not output.exists()
    assert stale(fleet) == []


def test_the_projects_permit_what_the_objects_need_and_no_more(fleet: Path) -> None:
    write_manifest(fleet, "app.yaml", config("search"))
    write_manifest(fleet, "space.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: tools}\n")
    write_manifest(fleet, "search/app.yaml", config("search-lab"))
    compiled(fleet)
    project, application = documents(fleet, "apps/extra.yaml")
    assert [place["namespace"] for place in project["spec"]["destinations"]] == ["search"]
    assert project["spec"]["clusterResourceWhitelist"] == [{"group": "", "kind": "Namespace"}]
    assert project["spec"]["namespaceResourceWhitelist"] == [{"group": "", "kind": "ConfigMap"}]
    assert application["spec"]["project"] == project["metadata"]["name"] == "dev-use1-extra"
    project, application = documents(fleet, "apps/extra-search.yaml")
    assert [place["namespace"] for place in project["spec"]["destinations"]] == ["search", "search-lab"]
    assert project["spec"]["clusterResourceWhitelist"] == []
    denied = [(row["group"], row["kind"]) for row in project["spec"]["namespaceResourceBlacklist"]]
    assert ("rbac.authorization.k8s.io", "RoleBinding") in denied and ("networking.k8s.io", "NetworkPolicy") in denied
    assert application["spec"]["project"] == project["metadata"]["name"] == "dev-use1-extra-search"
    assert application["metadata"]["annotations"] == {
        "argocd.argoproj.io/ignore-healthcheck": "true",
        "argocd.argoproj.io/sync-wave": "101",
    }


def test_a_project_without_namespaced_objects_denies_all_namespaced_kinds(fleet: Path) -> None:
    write_manifest(fleet, "space.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: tools}\n")
    compiled(fleet)
    project, _ = documents(fleet, "apps/extra.yaml")
    assert project["spec"]["namespaceResourceBlacklist"] == [{"group": "*", "kind": "*"}]


def test_two_open_policies_connect_two_tenants(fleet: Path) -> None:
    policy = (
        "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: open, namespace: NAMESPACE}\n"
        "spec: {podSelector: {}, policyTypes: [Ingress, Egress], ingress: [{}], egress: [{}]}\n"
    )
    for namespace in ("search", "research"):
        write_manifest(fleet, f"{namespace}.yaml", policy.replace("NAMESPACE", namespace))
    found = checked(fleet)
    assert {finding.id for finding in found} == {"ISO001"}
    assert {finding.mark.file for finding in found if finding.mark} == {
        f"{FOLDER}/search.yaml",
        f"{FOLDER}/research.yaml",
    }


def test_references_between_objects_of_users_and_of_gpuc_are_checked(fleet: Path) -> None:
    queue = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: own, namespace: search}\n"
    write_manifest(fleet, "queue.yaml", f"{queue}spec: {{clusterQueue: resarch}}\n")
    assert places(checked(fleet)) == ["REF001 queue.yaml:4"]


def test_the_spec_accepts_findings_but_not_refused_objects(fleet: Path) -> None:
    spec = fleet / SPEC
    spec.write_text(f"{spec.read_text()}  accept: {{MAN010: our kind, MAN007: no reason}}\n")
    write_manifest(fleet, "foo.yaml", "apiVersion: example.com/v1\nkind: Foo\nmetadata: {name: a}\n")
    write_manifest(fleet, "search/app.yaml", config("research"))
    assert "MAN007" in [finding.id for finding in checked(fleet)]
    (fleet / FOLDER / "search/app.yaml").unlink()
    spec.write_text(spec.read_text().replace(", MAN007: no reason", ""))
    assert checked(fleet) == ()


def link_to_a_file(root: Path) -> None:
    (root / "outside.yaml").write_text(config("search"))
    (root / FOLDER).mkdir(parents=True)
    (root / FOLDER / "a.yaml").symlink_to(root / "outside.yaml")


def link_to_a_folder(root: Path) -> None:
    (root / "outside").mkdir()
    (root / "outside/a.yaml").write_text(config("search"))
    (root / FOLDER).mkdir(parents=True)
    (root / FOLDER / "search").symlink_to(root / "outside")


def link_instead_of_the_folder(root: Path) -> None:
    (root / "outside").mkdir()
    (root / "outside/a.yaml").write_text(config("search"))
    (root / FOLDER).parent.mkdir()
    (root / FOLDER).symlink_to(root / "outside")


def link_above_the_folder(root: Path) -> None:
    (root / "specs/other/manifests").mkdir(parents=True)
    (root / "specs/other/manifests/a.yaml").write_text(config("search"))
    (root / FOLDER).parent.symlink_to(root / "specs/other")


def pipe(root: Path) -> None:
    (root / FOLDER).mkdir(parents=True)
    os.mkfifo(root / FOLDER / "a.yaml")


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("trick", "ids"),
    [
        (link_to_a_file, ["MAN001"]),
        (link_to_a_folder, ["MAN001"]),
        (link_instead_of_the_folder, ["MAN001"]),
        (link_above_the_folder, ["MAN001", "MAN002"]),
        (pipe, ["YAML022"]),
        (lambda root: write_manifest(root, "search/deep/a.yaml", config("search")), ["MAN001"]),
        (lambda root: write_manifest(root, "Chart.yaml", config("search")), ["MAN001"]),
        (lambda root: write_manifest(root, "..a\n.yaml", config("search")), []),
        (lambda root: write_manifest(root, "a\n.yaml", config("search")), ["MAN001"]),
        (lambda root: write_manifest(root, "-a.yaml", config("search")), ["MAN001"]),
        (lambda root: write_manifest(root, "large.yaml", f"a: b\n{'# comment' * 99}\n" * 1300), ["YAML019"]),
        (lambda root: write_manifest(root, "deep.yaml", "[" * 5000), ["LNT003"]),
        (lambda root: write_manifest(root, "bidi.yaml", f"a: b \u202e\n{config('search')}"), ["YAML016"]),
        (lambda root: write_manifest(root, "README.md", "notes"), []),
        (lambda root: write_manifest(root, "app.json", "{}"), ["MAN002"]),
        (lambda root: write_manifest(root, "empty.yaml", "# nothing\n---\n"), []),
    ],
)  # fmt: skip
def test_files_that_gpuc_refuses(fleet: Path, trick: Callable[[Path], None], ids: list[str]) -> None:
    trick(fleet)
    found = checked(fleet)
    assert sorted(finding.id for finding in found) == ids, found


def test_manifests_are_no_specs_and_layers_may_be_beside_them(fleet: Path) -> None:
    layer = "apiVersion: gpuc.dev/v1alpha1\nkind: Layer\nspec:\n  environment: staging\n"
    spec = fleet / SPEC
    text = spec.read_text().replace("  - base/eks.yaml", "  - base/eks.yaml\n  - dev-use1/shared.yaml")
    spec.write_text(text.replace("  environment: dev", "  kueue: {}", 1).replace("  kueue: {}", "", 1))
    write_manifest(fleet, "app.yaml", config("search"))
    (fleet / "specs/dev-use1/shared.yaml").write_text(layer)
    outcome = compiled(fleet)
    assert outcome.clusters == ("dev-use1",) and outcome.findings == ()
    assert documents(fleet, "tenants/search.yaml")[0]["metadata"]["labels"]["gpuc.dev/environment"] == "staging"


def test_a_folder_without_a_cluster_is_reported(fleet: Path) -> None:
    (fleet / "specs/dev-use2/manifests").mkdir(parents=True)
    (fleet / "specs/dev-use2/manifests/a.yaml").write_text(config("search"))
    found = checked(fleet)
    assert [(finding.id, finding.mark.file) for finding in found if finding.mark] == [
        ("MAN002", "specs/dev-use2/manifests")
    ]
