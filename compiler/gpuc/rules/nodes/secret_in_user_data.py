from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.nodes._user_data import pools_with_user_data

_SECRETS = {
    "an AWS access key": r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    "a private key": r"-----BEGIN [A-Z ]*PRIVATE KEY-----",
    "a secret access key": r"(?i)\baws_secret_access_key\b\s*[=:]\s*['\"]?[A-Za-z0-9/+]{40}",
    "a token of GitHub": r"\b(?:ghp|gho|ghs|github_pat)_[A-Za-z0-9_]{20,}",
    "a token of GitLab": r"\bglpat-[A-Za-z0-9_-]{20,}",
}
"""Patterns of secrets, by their names."""


@rule("KRP147", source="Amazon EC2 User Guide, instance user data: do not store sensitive data in user data")
def secret_in_user_data(cluster: Cluster) -> Findings:
    """User data contains a secret.

    Every process on the node and every user with the permission DescribeLaunchTemplateVersions can read user data, and
    the output of gpuc is in Git. A script reads a secret from AWS Secrets Manager with the role of the node.
    """
    import re

    for path, pool in pools_with_user_data(cluster):
        for name, pattern in _SECRETS.items():
            if match := re.search(pattern, pool.own_user_data):
                number = pool.own_user_data.count("\n", 0, match.start()) + 1
                message = f"line {number} of the user data of node pool {pool.name} contains {name}"
                yield path, f"{message}; expected a command that reads the secret"
