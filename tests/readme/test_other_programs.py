"""Mistakes in commands of helm, eksctl, argocd, curl and jq are found; a program that only reads is recognized."""

from __future__ import annotations

import shlex
import shutil

import pytest

from tests.readme.check import only_reads
from tests.readme.other_programs import curl_problems, jq_problems, subcommand_problems

CORRECT = (
    "helm list --kube-context a -n b --filter '^c$' -o json",
    "helm upgrade a b --repo https://c --version 1 --reuse-values -f d.yaml",
    "eksctl get addon --cluster a --region b",
    "argocd app terminate-op a",
    "argocd cluster add a --name b",
)
WRONG = {
    "helm lst": "helm has no command lst",
    "helm list --filtr a": "unknown option --filtr; did you mean --filter?",
    "helm upgrade a --version 1": "helm upgrade needs a release and a chart",
    "helm upgrade a b --repo https://c": "without --version installs the newest chart",
    "helm upgrade a b --repo c --version 1": "--repo c is not an address",
    "eksctl get addons2 --cluster a": "eksctl has no command get addons2",
    "eksctl get addon --clusters a": "unknown option --clusters",
    "argocd app terminate a": "argocd has no command app terminate",
    "argocd cluster add a --label2 b": "unknown option --label2",
}
ADDRESSES = {
    "-fsSLo a https://b/v1.2.3/c": "",
    "-fsSLo a https://b/main/c": "has no version",
    "-fsSLo a http://b/v1.2.3/c": "does not begin with https://",
    "-sSLo a https://b/v1.2.3/c": "curl without -f",
    "-fQ https://b/v1.2.3/c": "unknown option -Q",
    "-f": "curl needs an address",
}
READING = (
    "kubectl get nodes -o json | jq -r '.items[]' | grep -c a",
    "kubectl -n a describe pod b",
    "kubectl auth can-i list pods -n a",
    "kubectl apply --dry-run=server -f a.yaml",
    'aws eks describe-cluster --name a; aws eks wait cluster-active --name "$(aws iam get-role --role-name a)"',
    "aws iam simulate-principal-policy --policy-source-arn a --action-names b",
    "helm list -n a",
    "argocd cluster list",
    "eksctl get addon --cluster a",
    "curl -fsSI https://b/v1.2.3/c",
)
WRITING = (
    "kubectl delete pod a -n b",
    "kubectl get nodes || kubectl cordon a",
    "kubectl get nodes && kubectl cordon a",
    "kubectl apply -f a.yaml",
    "kubectl apply --dry-run=none -f a.yaml",
    "kubectl get nodes > a",
    "kubectl gte nodes",
    "aws eks create-addon --cluster-name a --addon-name b",
    "aws sts get-session-token",
    "helm upgrade a b",
    "argocd app sync a",
    "eksctl create addon --name a",
    "curl -fo a https://b/v1.2.3/c",
    "sort -o a",
    "rm a",
    'kubectl get nodes -l "$LABEL"',
)


@pytest.mark.parametrize("command", CORRECT)
def test_a_correct_command_has_no_problem(command: str) -> None:
    assert list(subcommand_problems(shlex.split(command))) == []


@pytest.mark.parametrize("command", WRONG)
def test_a_wrong_command_has_a_problem(command: str) -> None:
    found = list(subcommand_problems(shlex.split(command)))
    assert any(WRONG[command] in problem for problem in found), found


@pytest.mark.parametrize("arguments", ADDRESSES)
def test_curl_reads_pinned_addresses(arguments: str) -> None:
    found, problem = list(curl_problems(arguments.split())), ADDRESSES[arguments]
    assert any(problem in text for text in found) if problem else found == []


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
def test_jq_programs_compile() -> None:
    assert list(jq_problems(["-r", ".items[] | select(.a == 1) | [.b, .c // 2] | @tsv"])) == []
    assert "syntax error" in next(jq_problems(["-r", ".items[] | select(.a == 1"]))
    assert "jq needs a program" in next(jq_problems(["-r"]))
    assert "not defined" in next(jq_problems([".items | selec(.a)"]))


@pytest.mark.parametrize("text", READING)
def test_a_reading_program_is_recognized(text: str) -> None:
    assert only_reads(text)


@pytest.mark.parametrize("text", WRITING)
def test_a_writing_program_is_recognized(text: str) -> None:
    assert not only_reads(text)
