"""Simulates two controllers that do not run in a rehearsal: Karpenter's AWS provider and the GPU Operator."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gpuc.rehearse.client import ApiError, Client, Object, is_true, new_object, now_text
from gpuc.rehearse.context import CLAIM
from gpuc.rehearse.substitute import SIMULATED_CLASS, SIMULATED_GROUP

EC2_NODE_CLASS = ("karpenter.k8s.aws/v1", "EC2NodeClass")
SIMULATED = (f"{SIMULATED_GROUP}/v1alpha1", SIMULATED_CLASS)
CLUSTER_POLICY = ("nvidia.com/v1", "ClusterPolicy")
FINALIZER = "karpenter.k8s.aws/termination"
PAUSE_SECONDS = 1.0


@dataclass(frozen=True)
class SimulatedControllers:
    """The simulated controllers of one control plane."""

    client: Client

    def reconcile(self) -> None:
        """Reconciles all EC2NodeClass and ClusterPolicy objects once."""
        self._reconcile(EC2_NODE_CLASS, self._node_classes)
        self._reconcile(CLUSTER_POLICY, self._cluster_policies)

    def _reconcile(self, kind: tuple[str, str], function: Callable[[list[Object]], None]) -> None:
        """Calls the function with all objects of a kind, if the API server serves the kind."""
        if self.client.serves(*kind):
            function(self.client.list_all(*kind))

    def _node_classes(self, classes: list[Object]) -> None:
        """Marks node classes as ready, and creates a simulated node class for each new node class.

        A deleted node class remains until no NodeClaim uses this node class.
        """
        used = self._used_classes()
        for node_class in classes:
            metadata = node_class["metadata"]
            if "deletionTimestamp" in metadata:
                if metadata["name"] not in used:
                    self.client.remove_finalizers(node_class)
                    self.client.delete(*SIMULATED, metadata["name"])
                continue
            if FINALIZER not in metadata.get("finalizers", ()):
                finalizers = [*metadata.get("finalizers", ()), FINALIZER]
                self._patch(EC2_NODE_CLASS, metadata["name"], {"metadata": {"finalizers": finalizers}})
                self.client.apply(new_object(*SIMULATED, metadata["name"]))
            if not is_true(node_class, "Ready"):
                self._patch(EC2_NODE_CLASS, metadata["name"], {"status": {"conditions": [ready()]}}, "status")

    def _used_classes(self) -> set[str]:
        if not self.client.serves(*CLAIM):
            return set()
        return {str(claim["spec"]["nodeClassRef"]["name"]) for claim in self.client.list_all(*CLAIM)}

    def _cluster_policies(self, policies: Iterable[Object]) -> None:
        """Marks every ClusterPolicy as ready."""
        for policy in policies:
            if policy.get("status", {}).get("state") != "ready":
                status = {"state": "ready", "namespace": "gpu-operator"}
                self._patch(CLUSTER_POLICY, policy["metadata"]["name"], {"status": status}, "status")

    def _patch(self, kind: tuple[str, str], name: str, changes: Object, subresource: str = "") -> None:
        """Patches an object. Does nothing if the object was deleted in the meantime."""
        try:
            self.client.patch(*kind, name, changes, "", subresource)
        except ApiError as error:
            if error.code != 404:
                raise


def ready() -> Object:
    """Returns the condition Ready with the status True."""
    return {"type": "Ready", "status": "True", "reason": "Ready", "message": "", "lastTransitionTime": now_text()}
