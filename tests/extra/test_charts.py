"""Further charts: the Application, the AppProject and the values of each chart."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuc.cluster.application import Source, applications
from gpuc_rehearsal.argocd.repository import first_git_source, fleet_repository
from gpuc_rehearsal.substitute import not_tested
from tests.conftest import CUSTOM, compiled_example
from tests.extra.fleet import SPEC, checked, compiled, write_fleet, write_manifest
from tests.rehearse.argocd.test_repository import GIT
from tests.tables import table

CASES = table(__file__, "test_charts.yaml")

CHARTS = """\
  charts:
    cert-manager:
      repository: oci://quay.io/jetstack/charts
      chart: cert-manager
      version: v1.21.1
      namespace: cert-manager
      namespaces: [kube-system]
      kinds: {cluster: [rbac.authorization.k8s.io/ClusterRole], namespaced: [Service, apps/Deployment]}
      values: {crds: {enabled: true}, "a.b": null, tolerations: [{key: CriticalAddonsOnly, operator: Exists}]}
    vcluster:
      repository: https://charts.loft.sh
      chart: vcluster
      version: 0.30.0
      wave: 32
      namespace: search-lab
      tenant: search
      kinds: {namespaced: [apps/StatefulSet]}
      values: {controlPlane: {statefulSet: {scheduling: {tolerations: [{operator: Exists}]}}}}
"""


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = write_fleet(tmp_path / "fleet")
    (root / SPEC).write_text((root / SPEC).read_text() + CHARTS)
    return root


def documents(root: Path, file: str) -> list[Any]:
    return list(yaml.safe_load_all((root / "out/dev-use1" / file).read_text()))


def test_a_chart_gets_exactly_the_kinds_and_namespaces_of_the_spec(fleet: Path) -> None:
    assert compiled(fleet).findings == ()
    project, application = documents(fleet, "apps/cert-manager.yaml")
    assert project["spec"]["sourceRepos"] == [
        "https://git.example.com/platform/gpu-fleet.git",
        "quay.io/jetstack/charts",
    ]
    assert [place["namespace"] for place in project["spec"]["destinations"]] == ["cert-manager", "kube-system"]
    assert project["spec"]["clusterResourceWhitelist"] == [
        {"group": "", "kind": "Namespace"},
        {"group": "rbac.authorization.k8s.io", "kind": "ClusterRole"},
    ]
    assert project["spec"]["namespaceResourceWhitelist"] == [
        {"group": "", "kind": "Service"},
        {"group": "apps", "kind": "Deployment"},
    ]
    chart, values = application["spec"]["sources"]
    assert (chart["repoURL"], chart["chart"], chart["targetRevision"]) == (
        "quay.io/jetstack/charts",
        "cert-manager",
        "v1.21.1",
    )
    assert chart["helm"]["valueFiles"] == ["$values/out/dev-use1/charts/cert-manager/values.yaml"]
    assert values["ref"] == "values" and application["spec"]["project"] == "dev-use1-cert-manager"
    assert documents(fleet, "charts/cert-manager/values.yaml") == [
        {"crds": {"enabled": True}, "a.b": None, "tolerations": [{"key": "CriticalAddonsOnly", "operator": "Exists"}]}
    ]


def test_a_chart_of_a_tenant_stays_in_its_namespaces(fleet: Path) -> None:
    compiled(fleet)
    project, application = documents(fleet, "apps/vcluster.yaml")
    assert [place["namespace"] for place in project["spec"]["destinations"]] == ["search-lab"]
    assert project["spec"]["clusterResourceWhitelist"] == []
    assert "CreateNamespace=false" in application["spec"]["syncPolicy"]["syncOptions"]
    assert application["metadata"]["annotations"]["argocd.argoproj.io/sync-wave"] == "32"


def _applications(root: Path) -> list[Any]:
    """Returns the Applications in apps/ in the order of their waves."""
    found = [
        document
        for file in (root / "out/dev-use1/apps").glob("*.yaml")
        for document in yaml.safe_load_all(file.read_text())
        if document["kind"] == "Application"
    ]
    return sorted(found, key=_wave)


def _wave(application: Any) -> int:
    return int(application["metadata"]["annotations"]["argocd.argoproj.io/sync-wave"])


def _is_of_users(application: Any) -> bool:
    """Returns whether an Application has an AppProject of its own."""
    return bool(application["spec"]["project"] == application["metadata"]["name"])


MANIFEST = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app, namespace: NAMESPACE}\n"


def test_b1_the_project_of_a_chart_permits_the_namespace_that_it_creates(fleet: Path) -> None:
    """Without the kind, Argo CD refuses the sync: resource :Namespace is not permitted in project."""
    compiled(fleet)
    namespace = {"group": "", "kind": "Namespace"}
    for name, creates in (("cert-manager", True), ("vcluster", False)):
        project, application = documents(fleet, f"apps/{name}.yaml")
        options = application["spec"]["syncPolicy"]["syncOptions"]
        assert (f"CreateNamespace={str(creates).lower()}" in options) is True
        assert (namespace in project["spec"].get("clusterResourceWhitelist", [])) is creates


@pytest.mark.slow
def test_b1_no_application_waits_for_a_chart_or_a_manifest_by_default(fleet: Path) -> None:
    spec = fleet / SPEC
    spec.write_text(spec.read_text().replace("      wave: 32\n", ""))
    write_manifest(fleet, "platform.yaml", MANIFEST.replace("NAMESPACE", "monitoring"))
    write_manifest(fleet, "search/app.yaml", MANIFEST.replace("NAMESPACE", "search"))
    compiled(fleet)
    applications = _applications(fleet)
    # Argo CD waits for all waves but the last one, and the root counts all Applications without the annotation.
    awaited = [item for item in applications if _wave(item) < _wave(applications[-1])]
    of_users = [item for item in applications if _is_of_users(item)]
    assert len(of_users) == 4 and not [item for item in awaited if _is_of_users(item)]
    counted = [
        item
        for item in applications
        if item["metadata"]["annotations"].get("argocd.argoproj.io/ignore-healthcheck") != "true"
    ]
    assert counted == awaited
    options = [item["spec"]["syncPolicy"]["syncOptions"] for item in of_users]
    assert all("SkipDryRunOnMissingResource=true" in listed for listed in options)


def test_b1_the_readme_has_charts_and_manifests_in_the_table_of_waves(fleet: Path) -> None:
    write_manifest(fleet, "platform.yaml", MANIFEST.replace("NAMESPACE", "monitoring"))
    write_manifest(fleet, "search/app.yaml", MANIFEST.replace("NAMESPACE", "search"))
    compiled(fleet)
    readme = (fleet / "clusters/dev-use1/README.md").read_text()
    rows = [line.strip() for line in readme.splitlines() if line.startswith("   | ")]
    assert rows[-2:] == [
        "| 32 | chart vcluster |",
        "| 101 | chart cert-manager, manifests of the platform, manifests of search |",
    ]
    names = " ".join(f"dev-use1-{name}" for name in ("cert-manager", "vcluster", "extra", "extra-search"))
    assert f"kubectl get applications -n argocd {names}\n" in readme
    assert "except in waves after the wave of vcluster" in readme


@pytest.mark.share(3)
@pytest.mark.parametrize(("old", "new", "id_"), CASES["wrong_fields_of_a_chart"])
def test_wrong_fields_of_a_chart(fleet: Path, old: str, new: str, id_: str) -> None:
    spec = fleet / SPEC
    assert spec.read_text().count(old) == 1
    spec.write_text(spec.read_text().replace(old, new))
    assert [finding.id for finding in checked(fleet)] == [id_]


def test_the_reports_of_rehearsals_name_the_charts_that_are_not_run(tmp_path: Path) -> None:
    cluster = compiled_example("custom-euc1").cluster
    assert "Further charts, which are not installed: cert-manager." in not_tested(cluster)

    def has_chart(chart: Source) -> bool:
        return chart.chart != "cert-manager"

    out = "examples/custom/out"
    source = first_git_source(applications(compiled_example("custom-euc1").synced))
    repository = fleet_repository(GIT, tmp_path, CUSTOM, source, out, has_chart)
    repository.commit("first")
    missing = "chart cert-manager v1.21.1 of quay.io/jetstack/charts is missing"
    assert repository.not_rendered == {
        "custom-euc1-cert-manager": f"{missing}; set --charts to a folder that contains the chart",
        "custom-euc1-extra": "objects of the API group cert-manager.io can need a chart that is missing",
    }
