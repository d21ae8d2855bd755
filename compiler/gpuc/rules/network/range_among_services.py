from __future__ import annotations

from gpuc.diagnostics.finding import Related
from gpuc.kubernetes.addresses import ipv4_network
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.network._ranges import aws_ranges, egress_ranges


@rule(
    "NET105",
    source="aws/amazon-network-policy-controller-k8s v1.1.7 pkg/resolvers/endpoints.go; "
    "cilium/cilium v1.20.2 bpf/bpf_lxc.c (ENABLE_PER_PACKET_LB)",
)
def range_among_services(cluster: Cluster) -> Findings:
    """An address range overlaps the addresses of Services.

    The VPC CNI judges a packet before the address of a Service is replaced. With such a range, pods of a tenant can
    connect to the Services of all namespaces, unless an ingress policy denies the connection. Cilium judges the packet
    after the address is replaced, so that the range has no effect.
    """
    services = ipv4_network(cluster.aws.service_cidr or "")
    keys = ("podCidrs", "endpointCidrs", "s3GatewayCidrs", "apiServerCidrs")
    for path, text in (*aws_ranges(cluster, *keys), *egress_ranges(cluster)):
        address_range = ipv4_network(text)
        if services is not None and address_range is not None and address_range.overlaps(services):
            name = f"egress of tenant {path[2]} to {text}" if path[1] == "tenants" else f"{path[3]} {text}"
            message = f"{name} overlaps serviceCidr {services}; expected a range without addresses of Services"
            related = [Related("addresses of Services", ("spec", "cloud", "aws", "serviceCidr"))]
            yield path, message, "", related
