"""What a user of the fleet examples/hub can add without a field of its own: each row compiles, or has a finding."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from ruamel.yaml import YAML

from gpuc.diagnostics.report.result import Report
from gpuc.pipeline.pipeline import compile_specs
from tests.conftest import HUB
from tests.tables import table

SPEC = "specs/vega-prod.yaml"
NULL_TAG = "tag:yaml.org,2002:null"
STORAGE, VOLUME, SECRET, APPLICATION = table(__file__, "ways_out.yaml").values()


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the specs of examples/hub."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    shutil.copytree(HUB / "specs", tmp_path / "specs")
    return tmp_path


def compiled(root: Path, added: str = "") -> Report:
    """The result of a compile of vega-prod with more keys below `spec`."""
    if added:
        reader = YAML()
        reader.representer.add_representer(type(None), lambda dumper, _: dumper.represent_scalar(NULL_TAG, "null"))
        tree = reader.load(root / SPEC)
        _merge(tree["spec"], reader.load(added))
        reader.dump(tree, root / SPEC)
    return compile_specs(root, [SPEC], root, lambda step: None)


def output(root: Path, file: str, kind: str = "") -> Any:
    """A document of an output file of vega-prod, by its kind."""
    documents = yaml.safe_load_all((root / "out/vega-prod" / file).read_text())
    return next(document for document in documents if not kind or document["kind"] == kind)


def _merge(tree: dict[str, Any], added: dict[str, Any]) -> None:
    """Adds keys to a map, and to the maps below."""
    for key, value in added.items():
        if isinstance(value, dict) and isinstance(tree.get(key), dict):
            _merge(tree[key], value)
        else:
            tree[key] = value


@pytest.mark.slow
def test_a_deployment_under_kueue(fleet: Path) -> None:
    outcome = compiled(
        fleet,
        """
kueue: {frameworks: [batch/job, jobset.x-k8s.io/jobset, deployment, statefulset]}
pools: {serve-l40s: {counted: kueue}}
tenants: {api: {namespaces: {api-serving: {queues: [api], quota: {serve-l40s: null}}}}}
queues: {api: {quota: {serve-l40s: {nodes: 6}}}}
""",
    )
    assert outcome.findings == ()
    deployment = output(fleet, "workloads/serve-l40s.yaml", "Deployment")
    assert deployment["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "api"


@pytest.mark.slow
def test_charts_and_images_of_a_mirror(fleet: Path) -> None:
    mirror = "registry.vega.example"
    spec = fleet / SPEC
    spec.write_text(spec.read_text().replace("  aws:\n", f"  aws:\n      addOnRegistry: {mirror}\n"))
    outcome = compiled(
        fleet,
        f"""
components:
  efa: {{repository: "https://charts.vega.example"}}
  gatekeeper:
    repository: oci://{mirror}/charts
    values:
      image: {{repository: {mirror}/gatekeeper, crdRepository: {mirror}/gatekeeper-crds}}
      postInstall: {{labelNamespace: {{image: {{repository: {mirror}/gatekeeper-crds}}}}}}
  gpu-operator:
    repository: https://charts.vega.example
    values:
      operator: {{repository: {mirror}/nvidia}}
      node-feature-discovery: {{image: {{repository: {mirror}/nfd/node-feature-discovery}}}}
  karpenter:
    repository: oci://{mirror}/charts
    values: {{controller: {{image: {{repository: {mirror}/karpenter/controller}}}}}}
  karpenter-crd: {{repository: "oci://{mirror}/charts"}}
patches:
  - target: {{kind: ClusterPolicy, name: "*"}}
    patch: {{spec: {{devicePlugin: {{repository: {mirror}/nvidia}}}}}}
  - target: {{kind: DaemonSet, name: "*"}}
    patch:
      - {{op: replace, path: /spec/template/spec/containers/0/image, value: "{mirror}/pause:3.10"}}
""",
    )
    assert outcome.findings == ()
    project = output(fleet, "apps/project.yaml")
    git = "https://git.example.com/platform/gpu-fleet.git"
    assert project["spec"]["sourceRepos"] == ["https://charts.vega.example", git, f"{mirror}/charts"]
    (chart, _) = output(fleet, "apps/karpenter.yaml")["spec"]["sources"]
    assert (chart["repoURL"], chart["chart"], chart["targetRevision"]) == (f"{mirror}/charts", "karpenter", "1.14.1")
    assert (
        output(fleet, "karpenter/values.yaml")["controller"]["image"]["repository"] == f"{mirror}/karpenter/controller"
    )
    assert output(fleet, "efa/values.yaml")["image"]["repository"].startswith(f"{mirror}/eks/")


@pytest.mark.slow
def test_any_field_of_the_nodes_without_an_effect_on_quotas(fleet: Path) -> None:
    outcome = compiled(
        fleet,
        """
patches:
  - target: {kind: EC2NodeClass, name: "*"}
    patch:
      spec: {role: null, instanceProfile: vega-nodes, kubelet: {imageGCHighThresholdPercent: 80}}
  - target: {kind: EC2NodeClass, name: cpu}
    patch:
      - {op: replace, path: /spec/blockDeviceMappings/0/ebs/volumeType, value: io2}
""",
    )
    assert {finding.id for finding in outcome.findings} == {"PRE001"}  # the spec names another role
    node_class = output(fleet, "karpenter/pools/cpu.yaml", "EC2NodeClass")["spec"]
    assert node_class["kubelet"] == {"imageGCHighThresholdPercent": 80}
    assert node_class["blockDeviceMappings"][0]["ebs"]["volumeType"] == "io2"
    assert "role" not in node_class and node_class["instanceProfile"] == "vega-nodes"


@pytest.mark.slow
def test_manifests_of_the_platform_and_of_a_tenant(fleet: Path) -> None:
    folder = fleet / "specs/vega-prod/manifests"
    (folder / "nlp").mkdir(parents=True)
    (folder / "storage.yaml").write_text(STORAGE)
    (folder / "nlp/data.yaml").write_text(f"{VOLUME}---{SECRET}")
    assert [finding.id for finding in compiled(fleet).findings] == ["MAN010"]
    assert output(fleet, "extra/storage.yaml")["parameters"]["iops"] == "6000"
    assert output(fleet, "extra/nlp/data.yaml", "ExternalSecret")["spec"]["target"] == {"name": "token"}


@pytest.mark.slow
def test_an_application_in_the_manifests_of_a_cluster_does_not_reach_the_hub(fleet: Path) -> None:
    folder = fleet / "specs/vega-prod/manifests"
    folder.mkdir(parents=True)
    (folder / "other.yaml").write_text(APPLICATION)
    (finding,) = (finding for finding in compiled(fleet).findings if finding.id != "PRE001")
    assert (finding.id, str(finding.mark)) == ("MAN013", "specs/vega-prod/manifests/other.yaml:3:7")
    accepted = compiled(fleet, "accept: {MAN013: this cluster has an Argo CD of its own}")
    assert {finding.id for finding in accepted.findings} == {"PRE001"}  # credentials of its repository


def test_ipv6_is_not_supported(fleet: Path) -> None:
    (finding,) = compiled(
        fleet,
        """
tenants: {nlp: {network: {egress: [{cidr: "fd00:10::/64", ports: [{port: 443}], why: data lake}]}}}
""",
    ).findings
    assert (finding.id, "supports only IPv4" in finding.message) == ("SPC004", True)


def test_null_removes_what_a_layer_has_and_nothing_else(fleet: Path) -> None:
    """The mistakes with null: a key that no layer has, an entry of a list, and a required key."""
    prod = (fleet / SPEC).read_text()
    for added, id_, text in (
        ("nodeAgents: {csi: null}", "YAML021", "no layer has"),
        ("charts: null", "YAML021", "no layer has"),
        ("pools: {cpu: {instances: [m7i.4xlarge, null]}}", "YAML021", "an entry of a list is null"),
        ("pools: {cpu: {nodes: null}}", "SPC005", "pools.cpu: the key nodes is missing"),
        ("pools: {cpu: {purpose: null}}", "SPC002", "the key purpose is missing in pools.cpu"),
    ):
        (fleet / SPEC).write_text(prod)
        (finding,) = compiled(fleet, added).findings
        assert finding.id == id_ and text in finding.message, finding
