"""Rules that check a resolved cluster for mistakes in its spec. A folder is a topic; its modules contain the rules.

A rule is a function with a decorator such as `pool_rule`. gpuc finds the modules in the folders, so no list names them.
The rules of the topic `fleet` compare all specs of a repository.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from gpuc.diagnostics.contract import Check, Checks
from gpuc.diagnostics.finding import Finding, Path, Related, Rule, Severity
from gpuc.diagnostics.unknown import none_if_unknown, until_unknown
from gpuc.objects.object_finding import ObjectFinding

if TYPE_CHECKING:
    from gpuc.manifest.manifest import Manifest
    from gpuc.model import Cluster, GpuPool, Pool, Queue, Tenant
    from gpuc.spec.cluster import Spec

Element = TypeVar("Element")


class Found(NamedTuple):
    """What a rule yields for one mistake: the path of the wrong value, the message and the fix."""

    path: Path
    message: str
    """The actual value, then the expected value."""
    fix: str = ""
    """The change that corrects the mistake; an empty string if the rule is not certain."""
    related: Sequence[Related] = ()
    """Other places that explain the finding."""
    on_key: bool = False
    """Whether the key at the path is wrong instead of the value."""
    manifest: "Manifest | None" = None
    """The object with the path; None for a path in the spec. Some rules judge a spec and objects with one function."""

    def in_spec(self, rule: Rule) -> Finding:
        """Returns a finding of the rule with this path, message and fix, for a path in a spec."""
        return rule.at(self.path, self.message, fix=self.fix, related=self.related, on_key=self.on_key)

    def on_object(self, rule: Rule) -> ObjectFinding:
        """Returns a finding of the rule with this path, message and fix, for a path in the object `manifest`."""
        assert self.manifest is not None, "the place is in an object"
        return ObjectFinding(rule, self.manifest, self.path, self.message, self.fix, self.on_key)


Findings = Iterator[Found]

RULES: "Checks[Cluster, Found]" = Checks("gpuc.rules")
rule = RULES.declare
"""Decorator that declares a function as a rule.

The function's docstring is the title of the rule; rules.toml in its folder has the reason and the source.
"""


class _ElementRule(Generic[Element]):
    """Declares a function as a rule about each element of a kind, for example about each node pool."""

    def __init__(self, elements: "Callable[[Cluster], Iterable[Element]]") -> None:
        self._elements = elements

    def __call__(
        self, id: str, severity: Severity = Severity.ERROR  # noqa: A002
    ) -> "Callable[[Callable[[Element], Findings]], Check[Cluster, Found]]":  # fmt: skip
        def register(find: Callable[[Element], Findings]) -> "Check[Cluster, Found]":
            @wraps(find)
            def find_in_cluster(cluster: "Cluster") -> Findings:
                for element in self._elements(cluster):
                    yield from find(element)

            return rule(id, severity)(find_in_cluster)

        return register


pool_rule: "_ElementRule[Pool]" = _ElementRule(lambda cluster: cluster.pools)
gpu_rule: "_ElementRule[GpuPool]" = _ElementRule(lambda cluster: cluster.gpu_pools)
efa_rule: "_ElementRule[Pool]" = _ElementRule(lambda cluster: cluster.efa_pools)
queue_rule: "_ElementRule[Queue]" = _ElementRule(lambda cluster: cluster.queues)
tenant_rule: "_ElementRule[Tenant]" = _ElementRule(lambda cluster: cluster.tenants)


class Owned(NamedTuple):
    """Something that only one cluster or environment may use, for example a capacity reservation."""

    path: Path
    """The path in the spec that names the owned thing."""
    identity: tuple[str, ...]
    """Equal identities in two specs are the same thing."""
    words: str
    """The kind and the name, for messages."""
    environment: str = ""
    """The environment of the cluster, if it belongs to all clusters of the environment; empty for one cluster."""


FLEET_RULES: "Checks[Spec, Owned]" = Checks("gpuc.rules")
fleet_rule = FLEET_RULES.declare
"""Decorator that declares a function as a rule about what two specs of a fleet must not have in common.

The function yields what belongs to the cluster of a spec. A finding is at the second spec with the same identity.
"""


def check(cluster: "Cluster") -> list[Finding]:
    """Runs all rules on a cluster and returns the findings, sorted by rule id.

    If a value of the spec is unknown because of another error, each rule that reads the value ends without a finding.
    """
    of_substrate = none_if_unknown(lambda: cluster.spec.cloud.substrate.folder)()
    checks = [item for item in RULES.discover() if item.substrate in ("", of_substrate)]
    return [found.in_spec(item.rule) for item in checks for found in until_unknown(item.find(cluster))]
