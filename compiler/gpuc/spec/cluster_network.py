"""The section `network` of a spec. Users declare the network there because gpuc has no access to the cluster."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, WithJsonSchema

from gpuc.spec.base import SpecModel
from gpuc.spec.form import Words, text_error

_RANGE = "an IPv4 range such as 10.0.0.0/16"
_CIDR = r"^\d{1,3}(\.\d{1,3}){3}/\d{1,2}$"


def _ipv4_range(text: str) -> str:
    if re.fullmatch(_CIDR, text):
        return text
    expected = _RANGE
    if re.fullmatch(r"[0-9a-fA-F:]*:[0-9a-fA-F:.]*(/\d+)?", text):
        expected = f"{_RANGE}, because gpuc supports only IPv4"
    elif re.fullmatch(_CIDR.partition("/")[0] + "$", text):
        expected = f"an IPv4 range with its prefix length, such as {text}/32 for one address"
    elif re.search("[a-z]", text):
        expected = f"{_RANGE}; for host names, write the key names instead of cidr (requires policyEngine: cilium)"
    raise text_error(expected)


Cidr = Annotated[str, AfterValidator(_ipv4_range), WithJsonSchema({"type": "string", "pattern": _CIDR}), Words(_RANGE)]
"""An IPv4 address range, for example 10.0.0.0/16."""

Cidrs = Annotated[list[Cidr], Field(min_length=1)]


class ClusterNetwork(SpecModel):
    """The network of the cluster: address ranges, and the program that enforces NetworkPolicies."""

    policy_engine: Literal["vpc-cni", "cilium", "cilium-on-vpc-cni", "calico", "none"] = "none"
    """The program that enforces NetworkPolicies, or none. gpuc does not install the program.

    With cilium, Cilium is the only CNI plugin of the cluster. gpuc refuses cilium-on-vpc-cni (Cilium chained on the VPC
    CNI) and calico: which packets their policies match was not verified.
    """

    pod_cidrs: Cidrs = []
    """The address ranges of pods. Required if a tenant has the isolation network or dedicated."""

    service_cidr: Cidr | None = None
    """The address range of Services: --service-cluster-ip-range of the API server.

    With the VPC CNI, a policy for the API server must contain the first address of the range. Required if a tenant sets
    `network.apiServer`.
    """

    endpoint_cidrs: Cidrs = []
    """The address ranges of the interface endpoints in the VPC for object store, image registry and token service.

    Required if a tenant has the isolation network or dedicated.
    """

    api_server_cidrs: Cidrs = []
    """The address ranges of the API server in the VPC. Required if a tenant sets `network.apiServer`."""

    node_local_dns: bool = False
    """Whether nodes run NodeLocal DNSCache, and pods may connect to the cache. gpuc does not install the cache."""
