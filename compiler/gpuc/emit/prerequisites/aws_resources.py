"""The resources of the AWS account as the README of a cluster names them: in words, and as arguments of commands."""

from __future__ import annotations

from gpuc.spec.cloud import Aws, SecurityGroups, Subnets


def selection(selected: Subnets | SecurityGroups, noun: str, of_ids: str) -> str:
    """Describes the selected resources in Markdown: "a subnet with the tags `a=b`", or "one of the subnets `subnet-1`".

    Args:
        noun: the words before the tags.
        of_ids: the words before the ids.
    """
    names = selected.ids or [f"{key}={value}" for key, value in (selected.tags or {}).items()]
    return f"{of_ids if selected.ids else f'{noun} with the tags'} {', '.join(f'`{name}`' for name in names)}"


def selected(selection: Subnets | SecurityGroups) -> str:
    """Returns the name of a selection in the ids of prerequisites: its ids, or its tags as key=value."""
    return ",".join(selection.ids or [f"{key}={value}" for key, value in (selection.tags or {}).items()])


def selector(selected: Subnets | SecurityGroups, option: str) -> str:
    """Returns the arguments with which the aws command selects the resources. `option` is the option for ids."""
    if selected.ids:
        return f"{option} {' '.join(selected.ids)}"
    filters = (f"Name=tag:{key},Values={value}" for key, value in (selected.tags or {}).items())
    return "--filters " + " ".join(map(_quoted, filters))


def node_role_command(aws: Aws) -> str:
    """Returns the command that prints the ARN of the IAM role of nodes, without its output format."""
    if aws.node_role:
        return f"aws iam get-role --role-name {aws.node_role} --query Role.Arn"
    profile = f"--instance-profile-name {aws.instance_profile}"
    return f"aws iam get-instance-profile {profile} --query 'InstanceProfile.Roles[0].Arn'"


def _quoted(text: str) -> str:
    """Quotes a text as one word of a shell command, also if the text needs no quotes."""
    return "'" + text.replace("'", "'\\''") + "'"
