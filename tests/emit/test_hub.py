"""Finding 13: Argo CD in a hub cluster that deploys to other clusters."""

from typing import Any

import pytest

from gpuc.emit.argocd import argocd
from gpuc.manifest.manifest import Manifest
from tests.conftest import Variant
from tests.emit import fleet

HUB = {"server": "https://kubernetes.default.svc", "namespace": "argocd"}
OTHERS = [{"server": "https://0A1B.gr7.us-east-1.eks.amazonaws.com"}, {"name": "prod-use1"}]

each_other = pytest.mark.parametrize("other", OTHERS, ids=["server", "name"])


def delivered(variant: Variant, **destination: str) -> tuple[dict[str, Manifest], str]:
    """Returns the Argo CD objects by name, and the README, of a cluster with this destination."""
    changed = variant(lambda spec: spec["delivery"].update(destination={**destination, "namespace": "argocd"}))
    artifacts = list(argocd(changed))
    return {part.name: part for part in artifacts if isinstance(part, Manifest)}, fleet.readme(artifacts)


def spec(objects: dict[str, Manifest], name: str) -> Any:
    return objects[name].body["spec"]


@each_other
def test_finding_13_the_root_stays_on_the_hub_and_its_children_go_to_the_other_cluster(
    variant: Variant, other: dict[str, str]
) -> None:
    objects, _ = delivered(variant, **other)
    assert spec(objects, "prod-use1-root")["destination"] == HUB
    children = [
        manifest for name, manifest in objects.items() if manifest.kind == "Application" and not name.endswith("-root")
    ]
    assert len(children) > 10
    for child in children:
        destination = dict(child.body["spec"]["destination"])
        assert destination.pop("namespace") and destination == other
        assert child.namespace == "argocd"
    assert spec(objects, "prod-use1")["destinations"] == [{**other, "namespace": "*"}, HUB]


@each_other
def test_finding_13_the_readme_names_the_context_of_each_command(variant: Variant, other: dict[str, str]) -> None:
    _, text = delivered(variant, **other)
    commands = [line.strip() for line in text.splitlines() if line.startswith("    ")]
    kubectl = [line for line in commands if line.startswith("kubectl") and not line.startswith("kubectl config")]
    assert len(kubectl) > 10
    for command in kubectl:
        words = (" application", "apps/project.yaml", "root.yaml", "-n argocd")
        about_argo = any(word in command for word in words)
        assert command.startswith(f'kubectl --context "${"HUB" if about_argo else "WORKLOAD"}" '), command
    assert all('--kube-context "$HUB"' in line for line in commands if line.startswith("helm ") or "(helm " in line)
    named = f'argocd cluster add "$WORKLOAD"{" --name prod-use1" if "name" in other else ""}'
    assert named in commands


@pytest.mark.parametrize("own", [{"server": "https://kubernetes.default.svc"}, {"name": "in-cluster"}])
def test_a_cluster_that_runs_argo_cd_needs_one_context(variant: Variant, own: dict[str, str]) -> None:
    objects, text = delivered(variant, **own)
    assert spec(objects, "prod-use1")["destinations"] == [{**own, "namespace": "*"}]
    assert spec(objects, "prod-use1-root")["destination"] == HUB
    assert "--context " not in text and "cluster add" not in text


def test_two_clusters_of_one_hub_share_no_name(variant: Variant) -> None:
    """All Argo CD objects are in one namespace of the hub."""
    first, _ = delivered(variant, name="prod-use1")
    second = {manifest.name for manifest in fleet.manifests("train-usw2") if manifest.api.startswith("argoproj.io/")}
    assert second and not second & set(first)
