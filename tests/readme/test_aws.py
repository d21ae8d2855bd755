"""Mistakes in `aws` commands are found with botocore's models."""

from __future__ import annotations

import shlex

import pytest

from tests.readme.aws import aws_problems

CORRECT = (
    "eks describe-cluster --region eu-central-1 --name a --query cluster.version --output text --no-cli-pager",
    "eks update-cluster-version --name a --kubernetes-version 1.36",
    "eks wait cluster-active --name a",
    "eks update-kubeconfig --name a --alias b",
    "ec2 describe-subnets --filters Name=tag:a/b,Values=c,d Name=vpc-id,Values=e --max-items 5",
    """ec2 describe-instances --query 'Reservations[].Instances[?State.Name==`"running"`].[Tags[0].Value]'""",
    "ec2 describe-instances --query 'sort_by(Reservations[].Instances[], &LaunchTime)[-1].InstanceId'",
    "ec2 describe-instances --query 'length(Reservations[].Instances[].{id: InstanceId})'",
    "ec2 get-console-output --latest --instance-id INSTANCE",
    "ec2 run-instances --no-ebs-optimized --instance-type p5.48xlarge --min-count 1 --max-count 1",
    "ec2 authorize-security-group-ingress --group-id sg-1 --protocol=-1 --source-group sg-1",
    "ec2 authorize-security-group-egress --group-id sg-1 --ip-permissions IpProtocol=-1,UserIdGroupPairs=[{GroupId=a}]",
    """eks update-nodegroup-config --cluster-name a --nodegroup-name b \
       --taints '{"addOrUpdateTaints": [{"key": "a", "value": "b", "effect": "NO_SCHEDULE"}]}'""",
    "eks update-nodegroup-config --cluster-name a --nodegroup-name b --scaling-config minSize=1,maxSize=2",
    "eks create-addon --cluster-name a --addon-name b --tags k=v,l=w",
    "sqs get-queue-attributes --queue-url https://a --attribute-names All",
    "iam simulate-principal-policy --policy-source-arn arn:aws:iam::111122223333:role/a --action-names a:b",
    "cloudformation deploy --stack-name a --template-file b --capabilities CAPABILITY_NAMED_IAM --tags a=b",
    "eks create-cluster --generate-cli-skeleton input",
)
WRONG = {
    "eks": "expected `aws SERVICE OPERATION`",
    "ekss describe-cluster --name a": "AWS has no service ekss",
    "eks describe-clusters --name a": "no operation describe-clusters; did you mean describe-cluster?",
    "eks describe-cluster --cluster-name a": "unknown option --cluster-name",
    "eks describe-cluster": 'Missing required parameter in input: "name"',
    "eks describe-cluster --name a b": "b is not a value of an option",
    "eks describe-cluster --name": "option --name needs a value",
    "eks describe-cluster --name a --region eu-centrall-1": "AWS has no region with this name",
    "eks describe-cluster --name a --region eucentral1": "AWS has no region with this name",
    "eks describe-cluster --name a --output jsn": "--output jsn: expected one of json",
    "eks describe-cluster --name a --query cluster.versio": "Cluster has no field versio",
    "eks describe-cluster --name a --query cluster.version.x": "which has no fields",
    "eks describe-cluster --name a --query 'cluster[0]'": "Cluster (structure) is not a list",
    "eks describe-cluster --name a --query 'cluster['": "Invalid jmespath expression",
    "eks update-cluster-version --name a --version 1.36": "unknown option --version",
    "eks wait cluster-activ --name a": "has no waiter cluster-activ; did you mean cluster-active?",
    "eks update-kubeconfig --cluster a": "unknown option --cluster",
    "eks update-kubeconfig --alias a": "Missing required option --name",
    "ec2 describe-subnets --filters Name=a,Value=b": 'Unknown parameter in Filters[0]: "Value"',
    "ec2 describe-subnets --filters Name": "needs '='",
    "ec2 describe-subnets --filters Name=a,Values=[b": "needs ','",
    "ec2 describe-subnets --filters '[{Name: a}]'": "is not JSON",
    "ec2 describe-subnets --query 'Subnets[].[SubnetID]'": "Subnet has no field SubnetID",
    """ec2 describe-subnets --query 'Subnets[?Zone==`"a"`].SubnetId'""": "Subnet has no field Zone",
    "ec2 describe-subnets --query 'Subnets.SubnetId'": "is read from a list",
    "ec2 describe-subnets --query 'sort_by(Subnets, &Zone)'": "Subnet has no field Zone",
    "ec2 get-console-output --latest yes --instance-id a": "yes is not a value of an option",
    "ec2 create-capacity-reservation --instance-type a --instance-platform Linux --instance-count 1": "found Linux,",
    "ec2 create-capacity-reservation --instance-type a --instance-count x": "not of the type",
    "ec2 authorize-security-group-egress --group-id a --protocol tcp --ip-permissions IpProtocol=-1": "not compatible",
    "ec2 authorize-security-group-egress --group-id a --ip-permissions UserIdGroupPair=[]": "Unknown parameter",
    """eks update-nodegroup-config --cluster-name a --nodegroup-name b \
       --taints 'addOrUpdateTaints=[{key=a,value=b,effect=NoSchedule}]'""": "taints.addOrUpdateTaints[].effect: found",
    "eks update-nodegroup-config --cluster-name a --nodegroup-name b --scaling-config minSize=x": "not of the type",
    "eks update-addon --cluster-name a --addon-name b --resolve-conflicts KEEP": "resolveConflicts: found KEEP",
    "cloudformation deploy --stack-name a": "Missing required option --template-file",
    "cloudformation deploy --stack-name a --template-file b --capabilities NAMED_IAM": "--capabilities NAMED_IAM",
    "cloudformation deploy --stack-name a --template-file b --parameter-overrides a": "expected KEY=VALUE",
}


@pytest.mark.parametrize("command", CORRECT)
def test_a_correct_command_has_no_problem(command: str) -> None:
    assert list(aws_problems(shlex.split(command))) == []


@pytest.mark.parametrize("command", WRONG)
def test_a_wrong_command_has_a_problem(command: str) -> None:
    found = list(aws_problems(shlex.split(command)))
    assert any(WRONG[command] in problem for problem in found), found


def test_a_command_in_a_sentence_can_omit_parameters() -> None:
    assert list(aws_problems(["eks", "delete-pod-identity-association"], is_mention=True)) == []
    assert list(aws_problems(["eks", "delete-pod-identity-asociation"], is_mention=True)) != []
