"""Committed output: it is up to date, other parsers can read it, and it is valid against the upstream CRDs."""

from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from gpuc.pipeline.pipeline import check_specs
from tests.conftest import CUSTOM, EXAMPLES, HUB, HUB_CLUSTERS, MACHINE_CLUSTERS, MACHINES, ROOT
from tests.lanes import SHARE, some

FILES = sorted(
    file
    for root in (ROOT, CUSTOM, HUB, MACHINES)
    for folder in ("out", "clusters")
    for file in (root / folder).rglob("*.yaml")
    if file.name != "values.yaml"
)
OBJECTS = [file for file in FILES if file.name != "argocd-health.yaml"]


@pytest.mark.parametrize(("root", "clusters"), [(ROOT, EXAMPLES), (HUB, HUB_CLUSTERS), (MACHINES, MACHINE_CLUSTERS)])
def test_out_is_what_the_specs_compile_to(root: Path, clusters: tuple[str, ...]) -> None:
    outcome = check_specs(root, None, root, True, lambda step: None)
    assert outcome.findings == ()
    assert outcome.clusters == clusters


class Loader(yaml.CSafeLoader):
    """A loader that reads "=" as a text, as Kubernetes does."""


Loader.add_constructor("tag:yaml.org,2002:value", yaml.CSafeLoader.construct_scalar)


@cache
def documents(file: Path) -> list[dict[str, Any]]:
    return list(yaml.load_all(file.read_text(encoding="utf-8"), Loader=Loader))


@pytest.mark.slow
def test_a_second_parser_reads_the_same_objects() -> None:
    """PyYAML reads YAML 1.1, which is close to the parser of kubectl; ruamel reads YAML 1.2."""
    from ruamel.yaml import YAML

    for file in some(FILES, SHARE):
        modern = list(YAML(typ="safe", pure=True).load_all(file.read_text(encoding="utf-8")))
        assert modern == documents(file), file


def test_every_object_exists_once() -> None:
    for cluster in (*EXAMPLES, *HUB_CLUSTERS, "custom-euc1"):
        files: dict[tuple[str, ...], Path] = {}
        for file in OBJECTS:
            if cluster not in file.parts or "workloads" in file.parts:
                continue
            for document in documents(file):
                metadata = document["metadata"]
                key = (document["apiVersion"], document["kind"], metadata.get("namespace", ""), metadata["name"])
                assert key not in files, (key, file, files[key])
                files[key] = file


def test_nothing_in_the_output_is_a_secret_or_a_place_of_a_machine() -> None:
    for file in [*FILES, *ROOT.glob("**/out/*/gpuc.lock"), *ROOT.glob("**/clusters/*/*.md")]:
        text = file.read_text(encoding="utf-8")
        assert str(ROOT) not in text, file
    assert "Secret" not in {document["kind"] for file in OBJECTS for document in documents(file)}


def _is_left_out(key: str, value: Any) -> bool:
    """Returns whether a key is a default or a CEL rule, and not a field with the name default."""
    is_field = isinstance(value, dict) and "type" in value
    return key == "x-kubernetes-validations" or (key == "default" and not is_field)


def closed(schema: Any) -> Any:
    """Returns an OpenAPI v3 schema in which an unknown field is an error."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: closed(value) for key, value in schema.items() if not _is_left_out(key, value)}
    if schema.get("x-kubernetes-int-or-string"):
        made["type"] = ["integer", "string"]
    if "properties" in schema and not schema.get("x-kubernetes-preserve-unknown-fields"):
        made.setdefault("additionalProperties", False)
    if schema.get("nullable") and isinstance(made.get("type"), str):
        made["type"] = [made["type"], "null"]
    return made


def upstream_schemas(shared: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Returns the schemas of all kinds in the CRD files of the reference data, by apiVersion and kind."""
    index = defaultdict(dict)
    wanted = {(document["apiVersion"], document["kind"]) for file in OBJECTS for document in documents(file)}
    for file in sorted((shared / "upstream/crds").glob("*/*/*.yaml")):
        text = file.read_text(encoding="utf-8")
        if file.parts[-3] == "karpenter" or not any(f"    kind: {kind}\n" in text for _, kind in wanted):
            continue  # on AWS, the CRDs in the repository of the AWS provider are installed
        for crd in yaml.load_all(text, Loader=Loader):
            for version in crd["spec"]["versions"] if crd else ():
                key = (f"{crd['spec']['group']}/{version['name']}", crd["spec"]["names"]["kind"])
                if key in wanted:
                    index[key] = closed(version["schema"]["openAPIV3Schema"])
    return dict(index)


def test_every_object_validates_against_the_crds_of_upstream(shared: Path) -> None:
    schemas = upstream_schemas(shared)
    validators = {key: jsonschema_rs.Draft202012Validator(schema) for key, schema in schemas.items()}
    judged = 0
    core = {"v1", "batch/v1", "apps/v1", "networking.k8s.io/v1", "policy/v1", "rbac.authorization.k8s.io/v1"}
    core |= {"admissionregistration.k8s.io/v1", "flowcontrol.apiserver.k8s.io/v1", "scheduling.k8s.io/v1"}
    without_reference = {"cilium.io/v2", "cert-manager.io/v1"}  # the reference data has no CRDs of these projects
    core |= {"kubelet.config.k8s.io/v1beta1", "kubeadm.k8s.io/v1beta4"}  # files that test_node_files.py checks
    generated = {"constraints.gatekeeper.sh/v1beta1"}  # their CRDs come from the emitted ConstraintTemplates
    for file in OBJECTS:
        for document in documents(file):
            key = (document["apiVersion"], document["kind"])
            if key[0] in core | generated | without_reference:
                continue
            found = validators[key].iter_errors({**document, "metadata": {}})
            errors = [f"{list(error.instance_path)}: {error.message}" for error in found]
            assert errors == [], (file, document["kind"], errors)
            judged += 1
    assert judged > 100


@pytest.mark.parametrize("cluster", EXAMPLES)
def test_values_never_lie_below_a_synced_folder(cluster: str) -> None:
    files = (ROOT / f"out/{cluster}/apps").glob("*.yaml")
    applications = [document for file in files for document in documents(file)]
    synced = {
        source["path"]
        for application in applications
        if application["kind"] == "Application"
        for source in [application["spec"].get("source", {}), *application["spec"].get("sources", [])]
        if source.get("path")
    }
    values = [file.relative_to(ROOT).as_posix() for file in (ROOT / f"out/{cluster}").rglob("values.yaml")]
    assert synced and values
    assert not [value for value in values for folder in synced if value.startswith(f"{folder}/")]
