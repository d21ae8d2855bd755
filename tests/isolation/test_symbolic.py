"""The symbolic proof has the same result as trying all labels, addresses and port names of a small cluster."""

from itertools import product
from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st

from gpuc.isolation.proof import Reachability
from gpuc.isolation.tenancy import Tenancy
from gpuc.kubernetes.addresses import read_ranges
from gpuc.manifest.manifest import Manifest
from gpuc.objects.network_policies import read_policies
from tests.isolation.pod_network import Pod, PodNetwork
from tests.lanes import drawn

FRESH = "9"
VALUES = {"x": (None, "1", "2", FRESH), "y": (None, "1", FRESH)}
"""What a pod's labels may be; no selector names the fresh value, which stands for all that there are besides."""
PODS = ("10.0.0.0", "10.0.0.1")
PORTS = (80, 81, 90)
TENANTS = {"a1": "a", "a2": "a", "b1": "b"}


def words(key: str) -> st.SearchStrategy[str]:
    return st.sampled_from([value for value in VALUES[key] if value not in (None, FRESH)])


@st.composite
def selectors(draw: st.DrawFn) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if draw(st.booleans()):
        key = draw(st.sampled_from(["x", "y"]))
        made["matchLabels"] = {key: draw(words(key))}
    expressions = []
    for _ in range(draw(st.integers(0, 2))):
        key = draw(st.sampled_from(["x", "y"]))
        operator = draw(st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist"]))
        expression: dict[str, Any] = {"key": key, "operator": operator}
        if operator in ("In", "NotIn"):
            expression["values"] = draw(st.lists(words(key), min_size=1, max_size=2, unique=True))
        expressions.append(expression)
    if expressions:
        made["matchExpressions"] = expressions
    return made


NAMESPACES: list[dict[str, Any]] = [
    {},
    {"matchLabels": {"team": "a"}},
    {"matchLabels": {"team": "b"}},
    {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["a"]}]},
    {"matchExpressions": [{"key": "team", "operator": "Exists"}]},
]
BLOCKS: list[dict[str, Any]] = [
    {"cidr": "10.0.0.0/31"},
    {"cidr": "10.0.0.0/24", "except": ["10.0.0.0/32"]},
    {"cidr": "0.0.0.0/0", "except": ["10.0.0.0/31"]},
    {"cidr": "10.1.0.0/16"},
]
PORT_LISTS: list[list[dict[str, Any]]] = [
    [],
    [{"port": 80}],
    [{"port": 80, "endPort": 85, "protocol": "UDP"}, {"port": 90}],
    [{"port": "web"}],
    [{"port": "api"}, {"protocol": "UDP"}],
]


@st.composite
def peers(draw: st.DrawFn) -> dict[str, Any]:
    if draw(st.integers(0, 4)) == 0:
        return {"ipBlock": draw(st.sampled_from(BLOCKS))}
    made: dict[str, Any] = {}
    if draw(st.booleans()):
        made["podSelector"] = draw(selectors())
    if not made or draw(st.booleans()):
        made["namespaceSelector"] = draw(st.sampled_from(NAMESPACES))
    return made


@st.composite
def rules(draw: st.DrawFn, ends: str) -> dict[str, Any]:
    rule: dict[str, Any] = {}
    if draw(st.integers(0, 3)):
        rule[ends] = draw(st.lists(peers(), max_size=2))
    if draw(st.booleans()):
        rule["ports"] = draw(st.sampled_from(PORT_LISTS))
    return rule


@st.composite
def policies(draw: st.DrawFn) -> Manifest:
    spec: dict[str, Any] = {"podSelector": draw(st.one_of(st.just({}), selectors()))}
    types = draw(st.sampled_from([None, ["Ingress"], ["Egress"], ["Ingress", "Egress"]]))
    if types:
        spec["policyTypes"] = types
    for direction, ends in (("ingress", "from"), ("egress", "to")):
        if draw(st.booleans()):
            spec[direction] = draw(st.lists(rules(ends), max_size=2))
    namespace = draw(st.sampled_from(list(TENANTS)))
    return Manifest("p.yaml", (), "networking.k8s.io/v1", "NetworkPolicy", "p", {"spec": spec}, namespace)


def every_pod(namespace: str, addresses: tuple[str, ...], names: bool) -> list[Pod]:
    """Returns all pods of a namespace: each choice of labels, and of addresses and port names that rules use."""
    labels = [
        {key: value for key, value in zip(VALUES, choice, strict=True) if value is not None}
        for choice in product(*VALUES.values())
    ]
    numbers = (None, *PORTS) if names else (None,)
    named = [
        {("TCP", name): frozenset((number,)) for name, number in (("web", web), ("api", api)) if number}
        for web, api in product(numbers, numbers)
    ]
    return [Pod(namespace, *choice) for choice in product(labels, addresses, named)]


@drawn(60)
@given(
    st.lists(policies(), min_size=1, max_size=5),
    st.fixed_dictionaries({name: st.sampled_from(["a", "b", ""]) for name in TENANTS}),
)
def test_the_proof_is_exact(manifests: list[Manifest], teams: dict[str, str]) -> None:
    namespaces = {name: {"team": team} if team else {} for name, team in teams.items()}
    read = read_policies(manifests)
    assert len(read) == len(manifests)
    world = PodNetwork(read, namespaces)
    reachability = Reachability(read, Tenancy(namespaces, TENANTS), read_ranges(["10.0.0.0/31"]))
    text = str([manifest.body for manifest in manifests])
    addresses, names = (PODS if "ipBlock" in text else PODS[:1]), "'web'" in text or "'api'" in text
    for client, server in (("a1", "b1"), ("b1", "a2")):
        ways = [
            connection
            for connection in reachability.connections
            if (connection.client, connection.server) == (client, server)
        ]
        clients = every_pod(client, addresses, names=False)
        targets = every_pod(server, addresses, names)
        for protocol, port in product(("TCP", "UDP"), PORTS):
            proven = any(
                span.protocol == protocol and span.low <= port <= span.high
                for connection in ways
                for span in connection.ports
            )
            tried = any(world.allows(source, other, protocol, port) for source in clients for other in targets)
            event(f"open: {tried}")
            assert proven == tried, f"{client} to {server} on {protocol} {port}"
