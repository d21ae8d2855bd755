"""The commands in the READMEs of all example clusters are right, as far as that is known without a cluster."""

from pathlib import Path

import pytest

from tests.conftest import EXAMPLES, HUB_CLUSTERS, root_of
from tests.readme.blocks import blocks, mentions, program
from tests.readme.check import program_problems, readme_problems
from tests.readme.recording import PLACEHOLDER, record
from tests.substrates.eks.karpenter.test_user_data_programs import program as installed
from tests.tables import table

CLUSTERS = (*EXAMPLES, *HUB_CLUSTERS, "custom-euc1")
README = """
Check the nodes with `kubectl get nodes`:

    kubectl get nodes

1. Watch the queues:

       QUEUE=train
       kubectl get clusterqueues "$QUEUE"

2. Set a field:

       pools: {a: {hold: true}}
"""


def readme(cluster: str) -> str:
    return (root_of(cluster) / f"clusters/{cluster}/README.md").read_text(encoding="utf-8")


@pytest.mark.share(3)
@pytest.mark.parametrize("cluster", CLUSTERS)
def test_every_command_of_a_readme_exists(cluster: str) -> None:
    installed("shellcheck")
    assert readme_problems(readme(cluster), root_of(cluster)) == []


@pytest.mark.share(3)
@pytest.mark.parametrize("cluster", CLUSTERS)
def test_the_reader_sees_the_commands(cluster: str) -> None:
    commands = record(program(blocks(readme(cluster)))).commands
    count = {name: sum(command.arguments[0] == name for command in commands) for name in ("aws", "kubectl", "helm")}
    assert count["aws"] >= 15
    assert count["kubectl"] >= 40
    assert count["helm"] == 2


def test_the_reader_keeps_the_lines() -> None:
    text = program(blocks(README))
    assert [(command.line, command.arguments[1:]) for command in record(text).commands] == [
        (4, ("get", "nodes")),
        (9, ("get", "clusterqueues", "train")),
    ]
    assert [(block.line, block.text) for block in mentions(README)] == [(2, "kubectl get nodes")]


@pytest.mark.parametrize(("before", "after", "problem"), table(__file__, "cases.yaml")["readmes"])
def test_a_mistake_in_a_readme_is_found(before: str, after: str, problem: str, tmp_path: Path) -> None:
    assert before in README
    found = readme_problems(README.replace(before, after), tmp_path)
    assert any(problem in text for text in found), found


def test_a_correct_readme_has_no_problem(tmp_path: Path) -> None:
    assert readme_problems(README, tmp_path) == []


@pytest.mark.parametrize(("command", "problem"), table(__file__, "cases.yaml")["contexts"].items())
def test_a_readme_with_a_hub_names_the_context(command: str, problem: str, tmp_path: Path) -> None:
    variables = "    HUB=CONTEXT_OF_THE_CLUSTER_OF_ARGO_CD\n    WORKLOAD=CONTEXT_OF_a\n"
    used = '    argocd cluster add "$WORKLOAD" --name "$HUB"\n'
    found = readme_problems(f"{variables}{used}    {command}\n", tmp_path)
    assert problem in "\n".join(found) if problem else found == [], found


def test_a_recording_has_all_commands_of_a_program() -> None:
    program_text = """
NAMES="a b"
for NAME in $NAMES; do
  kubectl create namespace "$NAME" || kubectl label namespace "$NAME" x=y
  echo '{"kind": "X"}' | kubectl apply -n "$NAME" -f -
done
if aws eks x; then helm list; else argocd app list; fi
ARN=$(aws iam get-role \\
  --role-name r)
kubectl annotate x --arn="$ARN" > out.txt
cat <<EOF | kubectl apply -f -
name: $NAMES
EOF
"""
    recording = record(program_text)
    assert recording.errors == ()
    assert recording.files == ("out.txt",)
    found = {(command.line, " ".join(command.arguments), command.input) for command in recording.commands}
    assert found >= {
        (4, "kubectl create namespace b", ""),
        (4, "kubectl label namespace a x=y", ""),
        (5, "kubectl apply -n a -f -", '{"kind": "X"}'),
        (7, "helm list", ""),
        (7, "argocd app list", ""),
        (10, f"kubectl annotate x --arn={PLACEHOLDER}", ""),
    }
    assert any(name == "aws iam get-role --role-name r" for _, name, _ in found)


@pytest.mark.slow
def test_a_loop_without_an_end_is_stopped() -> None:
    assert len(record("until kubectl get nodes; do true; done").commands) == 1


def test_the_commands_of_another_source_are_checked() -> None:
    installed("shellcheck")
    assert program_problems("aws eks describe-cluster --region eu-west-1 --name x --query cluster.version") == []
    assert program_problems('kubectl get nodes -l "$LABEL"') != []
