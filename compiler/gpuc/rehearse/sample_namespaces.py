"""Namespaces in which one policy holds alone, under the parameters that its examples are written for."""

from __future__ import annotations

import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

from gpuc.model import Cluster
from gpuc.policy.library import policies
from gpuc.rehearse.client import POLL_SECONDS, Client, Object, WaitError
from gpuc.rehearse.examples import Example, changes, examples, moved
from gpuc.rehearse.health import ADMISSION_API, CONSTRAINT_API
from gpuc.rehearse.session import Rehearsal
from gpuc.rehearse.verdict import judged

LABEL = "gpuc.dev/rehearsal"
RUNTIME_CLASS = "nvidia"
_FRAMEWORKS = {"JobSet": "jobset.x-k8s.io/jobset", "TrainJob": "trainer.kubeflow.org/trainjob"}
ENFORCED_SECONDS = 60
REFRESH_SECONDS = 1
_THREADS = 4


class SampleNamespaces:
    """The namespaces, made when the first scene needs them."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._lock = Lock()
        self._ready = False
        self._failure = ""

    @property
    def emitted(self) -> list[str]:
        """Policies that have constraints: those whose settings the spec gives."""
        return [
            policy.name
            for policy in self._cluster.policies.values()
            if policy.settings.keys() <= self._cluster.policy_settings(policy.name).keys()
        ]

    @property
    def policies(self) -> list[str]:
        """Those of them that come with examples: gpuc's own."""
        return [name for name in self.emitted if name in policies()]

    def serves(self, example: Example) -> bool:
        """Whether the cluster has the kind of the example."""
        kinds = [each["kind"] for each in (example.document, example.owner) if each is not None]
        needed = {_FRAMEWORKS[kind] for kind in kinds if kind in _FRAMEWORKS}
        return needed <= set(self._cluster.spec.kueue.frameworks)

    def prepare(self, rehearsal: Rehearsal) -> None:
        """Makes them, once, and waits until every constraint of the cluster is enforced.

        Raises:
            WaitError: when one is not in time; the same for every scene.
        """
        with self._lock:
            if not self._ready:
                self._ready = True
                try:
                    self._make(rehearsal.client)
                except WaitError as error:
                    self._failure = str(error)
        if self._failure:
            raise WaitError(self._failure)

    def send(self, client: Client, example: Example) -> None:
        """Tries an example, as a dry run.

        Raises:
            ApiError: when it is refused.
        """
        after = _placed(example, example.document)
        if example.before is None:
            client.create(after, dry_run=True)
            return
        patch, metadata = changes(_placed(example, example.before), after), after["metadata"]
        api, kind, subresource = after["apiVersion"], after["kind"], example.subresource
        client.patch(api, kind, metadata["name"], patch, metadata["namespace"], subresource, dry_run=True)

    def _make(self, client: Client) -> None:
        """Objects that updates start from are older than the policy: they come before the namespace's label."""
        found = {name: [each for each in examples(policies()[name]) if self.serves(each)] for name in self.policies}
        client.apply(_runtime_class())
        with ThreadPoolExecutor(_THREADS) as pool:
            list(pool.map(lambda name: _make_one(client, name, found[name]), found))
            list(pool.map(lambda name: _wait_enforced(client, name, found[name]), found))
        _wait_bound(client)


def constraint_name(policy: str) -> str:
    """The constraint that holds in the namespaces of a policy's examples."""
    return f"rehearsal-{policy}"


def _make_one(client: Client, policy: str, found: list[Example]) -> None:
    names = sorted(set(_namespaces(policy, found).values()))
    for name in names:
        client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    for example in found:
        for older in (example.before, example.owner):
            if older is not None:
                client.apply(_placed(example, older))
    for name in names:
        metadata = {"name": name, "labels": {LABEL: policy}}
        client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    client.apply(_constraint(policy, _namespaces(policy, found)))


def _constraint(policy: str, namespaces: dict[str, str]) -> Object:
    known = policies()[policy]
    match = known.match({"matchLabels": {LABEL: policy}})
    spec = {"enforcementAction": "deny", "match": match, "parameters": moved(known.sample, namespaces)}
    return {
        "apiVersion": CONSTRAINT_API,
        "kind": known.kind,
        "metadata": {"name": constraint_name(policy)},
        "spec": spec,
    }


def _wait_enforced(client: Client, policy: str, found: list[Example]) -> None:
    """Waits until an example is refused that has to be: the API server reads new policies once a second."""
    probe = next(each for each in found if each.denied and each.before is None and not each.own_refusal)
    document = _placed(probe, probe.document)
    deadline = time.monotonic() + ENFORCED_SECONDS
    while judged(client, lambda: client.create(document, dry_run=True)).by != "policy":
        if time.monotonic() > deadline:
            raise WaitError(f"{policy} refuses nothing after {ENFORCED_SECONDS} s")
        time.sleep(POLL_SECONDS)


def _wait_bound(client: Client) -> None:
    """Waits until every constraint has become a binding in the API server, and was read."""
    wanted = set()
    for policy in client.list_all(ADMISSION_API, "ValidatingAdmissionPolicy"):
        kind = policy["spec"]["paramKind"]["kind"]
        wanted |= {
            f"gatekeeper-{kind.lower()}-{each['metadata']['name']}" for each in client.list_all(CONSTRAINT_API, kind)
        }
    deadline = time.monotonic() + ENFORCED_SECONDS
    while missing := wanted - _bindings(client):
        if time.monotonic() > deadline:
            raise WaitError(f"no binding after {ENFORCED_SECONDS} s: {', '.join(sorted(missing))}")
        time.sleep(POLL_SECONDS)
    time.sleep(REFRESH_SECONDS)


def _bindings(client: Client) -> set[str]:
    found = client.list_all(ADMISSION_API, "ValidatingAdmissionPolicyBinding")
    return {each["metadata"]["name"] for each in found}


def _runtime_class() -> Object:
    """What the GPU Operator makes; without it the API server refuses pods that name it before any policy does."""
    metadata = {"name": RUNTIME_CLASS}
    return {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": metadata, "handler": RUNTIME_CLASS}


def _namespaces(policy: str, found: Iterable[Example]) -> dict[str, str]:
    """Where examples go, by the namespace that they name."""
    named = {each.document["metadata"]["namespace"] for each in found}
    return {name: f"rehearsal-{policy}-{name}" for name in named}


def _placed(example: Example, document: Object) -> Object:
    made: Object = moved(document, _namespaces(example.policy, [example]))
    return made
