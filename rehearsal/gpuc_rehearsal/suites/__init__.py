"""The test suites of a rehearsal. A suite yields test cases about one subject, with their expected outcomes.

A suite is a function `(spec) -> Iterator[Case]`, which reads only the spec. So the expected outcomes do not depend on
the run. The test cases of a batch run at the same time, even if they belong to different suites, and do not change each
other's outcome. Batches run one after another, and the objects of a batch are deleted before the next batch. If each
test case ran alone, a rehearsal would take an hour.
"""

from collections.abc import Callable, Collection, Iterable, Iterator

from msgspec import Struct
from msgspec.structs import force_setattr

from gpuc.diagnostics.finding import Path
from gpuc.pipeline.stages import CompiledSpec
from gpuc_rehearsal.client import ADMINISTRATORS, Client, Object
from gpuc_rehearsal.context import RehearsalContext
from gpuc_rehearsal.outcome import Outcome, Request, agrees, classify_response

Action = Callable[[RehearsalContext], Outcome]
"""Creates the objects of a test case, waits, and returns the actual outcome."""

SUITES = {
    "smallest": "nodes.smallest",
    "full_node": "nodes.full_node",
    "efa": "nodes.efa",
    "shares": "nodes.shares",
    "gangs": "gangs.cases",
    "borrowing": "gangs.borrowing",
    "preemption": "gangs.preemption",
    "reclaim": "gangs.reclaim",
    "topology": "nodes.topology",
    "policies": "policies.cases",
    "boundaries": "boundaries.cases",
    "counted": "counted.cases",
    "deletion": "policies.deletion",
    "ways": "ways.cases",
    "serving": "serving.cases",
    "open_pools": "serving.open_pools",
}
"""Module and function of each suite, in the order of the run."""
NODES_BATCH = "nodes"
"""Name of the batch of test cases whose pods can run on the same node as other pods."""


class Case(Struct, frozen=True):
    """A test case: a request, for example to create an object, and the expected outcome."""

    suite: str
    name: str
    """Unique within its suite, for example "research train-h100 one GPU"."""
    origin: Path
    """Path of the tested field in the spec."""
    expected: Outcome
    action: Action
    queue: str = ""
    """Name of the ClusterQueue or LocalQueue; empty for a test case without a queue."""
    pool: str = ""
    request: str = ""
    """A description of the request; by default the name.

    Test cases are distinct if suite, queue, pool or request differ.
    """
    batch: str = ""
    """Name of the batch. Test cases with an empty name are in the batch of their suite."""
    demand: Request | None = None
    """The quota and nodes that the test case uses. Test cases that do not fit together run in separate batches."""

    def __post_init__(self) -> None:
        force_setattr(self, "request", self.request or self.name)

    @property
    def is_refusal(self) -> bool:
        """Whether the expected outcome is that the request is refused, or that its pods stay pending."""
        return self.expected.verdict in ("refused", "pending")


class CaseResult(Struct, frozen=True):
    """A test case, its actual outcome and its duration."""

    case: Case
    actual: Outcome
    seconds: float
    beside: Outcome | None = None
    """The outcome of the run together with other test cases, if it was unexpected and the test case ran again alone."""

    @property
    def passed(self) -> bool:
        """Whether the actual outcome agrees with the expected outcome."""
        return agrees(self.case.expected, self.actual)


def sending(
    send: Callable[[Client], object], user: str = "", group: str = ADMINISTRATORS, ignored: Collection[str] = ()
) -> Action:
    """Returns an action of a Case: a user sends a request. Warnings with ignored texts do not count."""

    def action(context: RehearsalContext) -> Outcome:
        client = context.client.impersonate(user, group) if user else context.client
        return classify_response(client, lambda: send(client), ignored)

    return action


def creation(document: Object, user: str = "", ignored: Collection[str] = ()) -> Action:
    """Returns an action of a Case: a user creates an object in a dry run. Warnings with ignored texts do not count."""
    return sending(lambda client: client.create(document, dry_run=True), user, ignored=ignored)


def all_cases(spec: CompiledSpec, suites: Iterable[str] = tuple(SUITES)) -> Iterator[Case]:
    """Yields all test cases for a cluster, one suite after another."""
    from importlib import import_module

    for name in suites:
        module, _, function = SUITES[name].partition(".")
        yield from getattr(import_module(f"{__name__}.{module}"), function)(spec)
