"""Creates namespaces for the examples of policies. In each of these namespaces, only one policy applies."""

import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import chain
from threading import Lock

from gpuc.customize.merge import patch_between
from gpuc.kubernetes.api_groups import ADMISSION_API, CONSTRAINT_API, is_custom
from gpuc.kubernetes.kueue import GROUP
from gpuc.model import Cluster
from gpuc.policy.library import Policy
from gpuc_rehearsal.client import ApiError, Client, Object, WaitError, new_object
from gpuc_rehearsal.context import RehearsalContext
from gpuc_rehearsal.crds import EXPOSED, framework_groups
from gpuc_rehearsal.examples import Example, examples, with_namespaces
from gpuc_rehearsal.health import BINDING
from gpuc_rehearsal.outcome import dry_run

LABEL = "gpuc.dev/rehearsal"
RUNTIME_CLASS = "nvidia"
ENFORCED_SECONDS = 60
REFRESH_SECONDS = 1
_THREADS = 4


class SampleNamespaces:
    """The namespaces for the examples of policies. A test case that needs a namespace first creates all namespaces."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster, self._lock = cluster, Lock()
        self._failure: str | None = None

    @cached_property
    def emitted(self) -> list[str]:
        """The names of the policies that apply in the cluster: those whose settings the spec sets."""
        return [
            policy.name
            for policy in self._cluster.policies.values()
            if policy.settings.keys() <= self._cluster.policy_settings(policy.name).keys()
        ]

    @cached_property
    def examples(self) -> dict[str, list[Example]]:
        """The examples that the API server can check, by the name of the policy.

        A policy is left out if none of its examples is a new object that the policy denies: gpuc waits for the refusal
        of such an object to know that the API server enforces the policy.
        """
        found = {name: list(filter(self.serves, examples(self._cluster.policies[name]))) for name in self.emitted}
        return {name: served for name, served in found.items() if any(map(_is_probe, served))}

    def serves(self, example: Example) -> bool:
        """Returns whether the API server knows the kinds of the example and of its owners."""
        owners = example.document["metadata"].get("ownerReferences", ())
        groups = {document["apiVersion"].rpartition("/")[0] for document in (example.document, *owners)}
        return all(map(self.serves_group, groups))

    def serves_group(self, group: str) -> bool:
        """Returns whether the API server knows the kinds of an API group."""
        served = framework_groups(self._cluster.frameworks) | {table.group for table in EXPOSED}
        return not is_custom(group) or group in served or group == GROUP

    def prepare(self, context: RehearsalContext) -> None:
        """Creates the namespaces at the first call, and waits until the API server enforces every policy in them.

        Raises:
            WaitError: if a policy is not enforced in time, or if the API server refuses an object. All later calls
                raise the same error.
        """
        with self._lock:
            if self._failure is None:
                self._failure = ""
                try:
                    self._create(context)
                except (ApiError, WaitError) as error:
                    self._failure = str(error)
        if self._failure:
            raise WaitError(self._failure)

    def send(self, example: Example, client: Client) -> None:
        """Creates or updates the object of an example as a dry run.

        Raises:
            ApiError: if the API server, a policy or a webhook refuses the example.
        """
        after = _in_test_namespace(example, example.document)
        if example.before is None:
            client.create(after, dry_run=True)
        else:
            changes = patch_between(_in_test_namespace(example, example.before), after)
            client.patch_object(after, changes, example.subresource, dry_run=True)

    def _create(self, context: RehearsalContext) -> None:
        """Creates the namespaces, their objects and their constraints, and waits until all constraints are enforced."""
        served, policies, client = self.examples, self._cluster.policies, context.client
        # The RuntimeClass of the GPU Operator. The API server refuses pods with a missing RuntimeClass.
        client.apply(new_object("node.k8s.io/v1", "RuntimeClass", RUNTIME_CLASS, handler=RUNTIME_CLASS))
        own = {pool.priority_class for pool in self._cluster.pools}
        own |= {name for name, priority in self._cluster.spec.priorities.items() if priority.pods}
        for name in sorted(_priority_classes(chain.from_iterable(served.values())) - own):
            client.apply(new_object("scheduling.k8s.io/v1", "PriorityClass", name, value=0))
        with ThreadPoolExecutor(_THREADS) as pool:
            list(pool.map(lambda name: _create_namespaces(client, policies[name], served[name]), served))
            list(pool.map(lambda name: _wait_until_enforced(context, name, served[name]), served))
        _wait_for_bindings(client)


def _priority_classes(served: Iterable[Example]) -> set[str]:
    """Returns the PriorityClasses in examples, without system classes. A pod needs its class on the API server."""
    documents = (document for example in served for document in (example.document, example.before) if document)
    specs = (document.get("spec", {}) for document in documents if document["kind"] == "Pod")
    names = {spec.get("priorityClassName", "") for spec in specs}
    return {name for name in names if name and not name.startswith("system-")}


def _is_probe(example: Example) -> bool:
    """Returns whether it is the policy that refuses the example, and not another check of the API server."""
    return example.denied and example.before is None and not example.api_server_refusal


def constraint_name(policy: str) -> str:
    """Returns the name of the Gatekeeper constraint that a rehearsal creates for the examples of a policy."""
    return f"rehearsal-{policy}"


def _create_namespaces(client: Client, policy: Policy, served: list[Example]) -> None:
    names = sorted(set(_namespaces(policy.name, served).values()))
    for name in names:
        client.apply(new_object("v1", "Namespace", name))
    for example in served:
        for existing in (example.before, example.owner):
            if existing is not None:
                client.apply(_in_test_namespace(example, existing))
    # The constraint selects the label, so the label comes after the existing objects, which the policy may deny.
    for name in names:
        client.apply(new_object("v1", "Namespace", name, metadata={"labels": {LABEL: policy.name}}))
    parameters = with_namespaces(policy.sample, _namespaces(policy.name, served))
    match = policy.match({"matchLabels": {LABEL: policy.name}})
    spec = {"enforcementAction": "deny", "match": match, "parameters": parameters}
    client.apply(new_object(CONSTRAINT_API, policy.kind, constraint_name(policy.name), spec=spec))


def _wait_until_enforced(context: RehearsalContext, policy: str, served: list[Example]) -> None:
    """Waits until the policy refuses a denied example, because the API server reads new policies only once a second."""
    probe = next(example for example in served if _is_probe(example))
    document = _in_test_namespace(probe, probe.document)
    sender = context.client.with_user(probe.user)
    description = f"the API server enforces policy {policy}"
    context.until(description, lambda: dry_run(sender, document).by == "policy", ENFORCED_SECONDS)


def _wait_for_bindings(client: Client) -> None:
    """Waits until every constraint has a ValidatingAdmissionPolicyBinding, and the API server has read all bindings."""
    policies = client.list_all(ADMISSION_API, "ValidatingAdmissionPolicy")
    # A policy of gpuc that Gatekeeper did not generate has no kind of parameters.
    for kind in {policy["spec"]["paramKind"]["kind"] for policy in policies if "paramKind" in policy["spec"]}:
        for constraint in client.list_all(CONSTRAINT_API, kind):
            name = f"gatekeeper-{kind.lower()}-{constraint['metadata']['name']}"
            client.wait_for(ADMISSION_API, BINDING, name, lambda _: True, ENFORCED_SECONDS)
    time.sleep(REFRESH_SECONDS)


def _namespaces(policy: str, served: Iterable[Example]) -> dict[str, str]:
    """Returns the name of the created namespace for each namespace in the examples."""
    names = {example.document["metadata"]["namespace"] for example in served}
    return {name: f"rehearsal-{policy}-{name}" for name in names}


def _in_test_namespace(example: Example, document: Object) -> Object:
    replaced: Object = with_namespaces(document, _namespaces(example.policy, [example]))
    return replaced
