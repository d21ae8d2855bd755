from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule

REASONS = {
    "calico": "gpuc has no verified facts about the packets that policies of Calico match",
    "cilium-on-vpc-cni": "gpuc has verified Cilium only as the single CNI plugin, not chained on the VPC CNI",
}


@rule("NET004", source="gpuc/catalog/datapaths.json: the facts of each engine and their sources")
def engine_without_facts(cluster: Cluster) -> Findings:
    """gpuc does not support the network policy engine.

    Engines match the packets of a pod differently, for example before or after the address of a Service is replaced.
    Without facts about the engine, the policies can block DNS, credentials or the API server, and the proof that
    tenants are isolated can be wrong.
    """
    engine = cluster.aws.network_policy_engine
    if engine in REASONS:
        message = f"networkPolicyEngine is {engine}; {REASONS[engine]}; expected vpc-cni, cilium or none"
        yield ("spec", "cloud", "aws", "networkPolicyEngine"), message
