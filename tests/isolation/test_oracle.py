"""The evaluator of NetworkPolicies gives the same verdicts as cyclonus, an independent implementation."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from gpuc.manifest.manifest import Manifest
from gpuc.objects.network_policies import read_policies
from tests.isolation.pod_network import Pod, PodNetwork

PROTOCOLS = ("TCP", "UDP", "SCTP")
PORTS = (80, 81)
NAMED = {(protocol, f"serve-{port}-{protocol.lower()}"): frozenset((port,)) for protocol in PROTOCOLS for port in PORTS}


def policy(raw: dict[str, Any]) -> Manifest:
    metadata = raw["metadata"]
    body = {"spec": raw["spec"]}
    return Manifest(
        "p.yaml", (), "networking.k8s.io/v1", "NetworkPolicy", metadata["name"], body, metadata["namespace"]
    )


def pods(case: dict[str, Any]) -> dict[str, Pod]:
    """Pods by "namespace/name"; 192.168.1.20 and up go to x/a, x/b, x/c, y/a and on; a step may add others."""
    names = sorted(f"{namespace}/{name}" for namespace in "xyz" for name in "abc")
    addresses = {name: f"192.168.1.{20 + number}" for number, name in enumerate(names)}
    return {
        name: Pod(name.partition("/")[0], labels, addresses.get(name, "192.168.2.1"), NAMED)
        for name, labels in case["PodLabels"].items()
    }


def test_every_verdict_of_cyclonus(shared: Path) -> None:
    cases = json.loads((shared / "oracles/networkpolicy/cyclonus-cases.json").read_text(encoding="utf-8"))["cases"]
    verdicts = Counter[bool]()
    for case in cases:
        policies = [policy(raw) for raw in case["Policies"] or ()]
        world, known = PodNetwork(read_policies(policies), case["NsLabels"]), pods(case)
        assert len(world.policies) == len(policies), case["Desc"]
        allowed = set(case["Allowed"] or ())
        for client in known:
            for server in known:
                for port in PORTS if client != server else ():
                    for protocol in PROTOCOLS:
                        flow = f"{client}>{server}:{port}/{protocol}"
                        verdicts[world.allows(known[client], known[server], protocol, port) == (flow in allowed)] += 1
    print(f"cyclonus: {verdicts[True]} of {verdicts.total()} verdicts agree")
    assert verdicts == {True: verdicts.total()}
    assert verdicts.total() >= 110_000
