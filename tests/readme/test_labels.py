"""The labels in selectors and columns of READMEs are labels that gpuc, Karpenter, EKS or the GPU Operator set.

A selector with a wrong label finds nothing, and kubectl reports no error.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import yaml

from gpuc.cluster.node_class import RESERVATION_ID
from gpuc.kubernetes.kueue import LEVEL_LABELS, level_label
from tests.conftest import root_of
from tests.readme.blocks import blocks, program
from tests.readme.kubectl import output_paths, parsed
from tests.readme.recording import Command, record
from tests.readme.test_readmes import CLUSTERS, readme
from tests.tables import table

OTHERS = (
    "karpenter.sh/nodepool", "karpenter.sh/capacity-type", RESERVATION_ID, *LEVEL_LABELS.values(),
    level_label("block", 4),
    "nvidia.com/mig.config", "nvidia.com/mig.config.state",
)  # fmt: skip
"""Labels of nodes that controllers set.

Source: kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/labels.go; GPU Operator documentation, "GPU Operator with MIG"
"""
OF_CHARTS = {
    "app.kubernetes.io/name": {"aws-load-balancer-controller", "kube-state-metrics", "prometheus"},
    "app.kubernetes.io/version": set(),
    "argocd.argoproj.io/secret-type": {"repository"},
    "helm.sh/chart": set(),
    "io.cilium/app": {"operator"},
}
"""Labels and their values in programs that the README of a cluster asks for.

Source: aws/eks-charts stable/aws-load-balancer-controller/templates/_helpers.tpl; prometheus-community/helm-charts
charts/kube-state-metrics/templates/_helpers.tpl; prometheus-operator/prometheus-operator pkg/prometheus/common.go;
argoproj/argo-cd v3.5.7 common/common.go (LabelKeySecretType), manifests/base; cilium/cilium v1.20.2
install/kubernetes/cilium/templates/cilium-operator/deployment.yaml
"""
PLACEHOLDER = re.compile(r"[A-Z][A-Z0-9_]*")


@cache
def labels(cluster: str) -> dict[str, set[str]]:
    """The values of all labels in the output of a cluster, by key."""
    found: dict[str, set[str]] = {}
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for file in sorted((root_of(cluster) / f"out/{cluster}").rglob("*.yaml")):
        for document in yaml.load_all(file.read_text(encoding="utf-8"), loader):
            for key, value in _labels(document):
                found.setdefault(key, set()).add(value)
    return found


def label_problems(command: Command, known: dict[str, set[str]]) -> Iterator[str]:
    """Yields the labels in a command that no object of the output and no controller sets."""
    _, given = parsed(command.arguments[1:])
    wanted = [(path[-1], "") for path in output_paths(given) if path[-2:-1] == ("labels",)]
    wanted += [(key, "") for text in given.values.get("--label-columns", []) for key in text.split(",")]
    for selector in given.values.get("--selector", []):
        for term in selector.split(","):
            key, _, value = term.removeprefix("!").partition("=")
            wanted.append((key, "" if PLACEHOLDER.fullmatch(value) else value))
    for key, value in wanted:
        if key not in known and key not in OTHERS and key not in OF_CHARTS:
            yield f"line {command.line}: nothing has the label {key}"
        elif value and value not in known.get(key, {value}) | OF_CHARTS.get(key, set()):
            yield f"line {command.line}: nothing has the label {key}={value}"


@pytest.mark.share(3)
@pytest.mark.parametrize("cluster", CLUSTERS)
def test_selectors_of_a_readme_have_labels_that_exist(cluster: str) -> None:
    commands = [
        command for command in record(program(blocks(readme(cluster)))).commands if command.arguments[0] == "kubectl"
    ]
    assert [problem for command in commands for problem in label_problems(command, labels(cluster))] == []


@pytest.mark.parametrize(("arguments", "problems"), table(__file__, "cases.yaml")["labels"].items())
def test_a_label_that_nothing_has_is_found(arguments: str, problems: list[str]) -> None:
    assert list(label_problems(Command(1, ("kubectl", *arguments.split())), {"a/b": {"c"}})) == problems


def _labels(value: Any) -> Iterator[tuple[str, str]]:
    """Yields the keys and values of all maps with the name `labels` or `matchLabels`."""
    if isinstance(value, list):
        for item in value:
            yield from _labels(item)
    elif isinstance(value, dict):
        for key, child in value.items():
            if key in ("labels", "matchLabels") and isinstance(child, dict):
                yield from ((name, text) for name, text in child.items() if isinstance(text, str))
            yield from _labels(child)
