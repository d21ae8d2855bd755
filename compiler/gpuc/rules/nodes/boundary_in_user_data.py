from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.nodes._user_data import pools_with_user_data
from gpuc.spec.node_settings import BOUNDARY

BOUNDARIES = (BOUNDARY, "//")
"""The boundaries of gpuc and of Karpenter, which writes the archive again.

Source: aws/karpenter-provider-aws v1.14.1 pkg/providers/amifamily/bootstrap/mime/mime.go
"""


_ENDS = (*(f"--{text}" for text in BOUNDARIES), *(f"{text}-script" for text in BOUNDARIES))
"""Beginnings of lines that end a part of user data, or the file into which gpuc writes the script."""


@rule("KRP145", source="RFC 2046, section 5.1.1")
def boundary_in_user_data(cluster: Cluster) -> Findings:
    """A line of a script in user data is the boundary between the parts of user data.

    The rest of the script would be another part, and the script would end early.
    """
    for path, pool in pools_with_user_data(cluster):
        for number, line in enumerate(pool.own_user_data.splitlines(), 1):
            if pool.image.id != "bottlerocket" and line.startswith(_ENDS):
                message = f"line {number} of the user data of node pool {pool.name} begins with {line[:10]}"
                yield path, f"{message}, which separates parts of user data; expected another line"
