"""Keys of labels and annotations that users must not set, because they would change what a program does."""

from functools import cache

from msgspec import Struct

from gpuc.catalog.records import Sources
from gpuc.catalog.rows import by_key


class ReservedKey(Struct, frozen=True):
    """A key of labels or annotations, or all keys of a domain, with the program that reads these keys."""

    key: str
    """A key; or a domain and "/", for the keys of the domain and of its subdomains; or a text that ends with ".", for
    the keys that start with the text.
    """
    effect: str
    """What the program does with the keys: the second half of a sentence in a message."""
    source: Sources
    of_nodes: bool = False
    """Whether programs also read the keys of labels and taints of nodes."""
    by_cloud: bool = False
    """Whether Kubernetes or the cloud sets labels of the domain on nodes, even if their node pool sets no labels."""

    def reserves(self, key: str) -> bool:
        """Returns whether the entry applies to a key of a label or annotation."""
        return _covers(self.key, key)


FREE = ("app.kubernetes.io/part-of", "app.kubernetes.io/version")
"""Keys of a reserved domain that no program reads."""
_FREE_ON_NODES = (
    "node-role.kubernetes.io/", "node-restriction.kubernetes.io/",
    "node.kubernetes.io/exclude-from-external-load-balancers",
)  # fmt: skip


@cache
def reserved_keys() -> tuple[ReservedKey, ...]:
    """Returns the keys that the components of gpuc read, and keys of other programs (Istio) that affect a namespace.

    A label in the spec is added to many objects. A reserved key there could switch off policies, hooks or pruning, and
    a Job with a container of Istio or Linkerd may never end. A patch can set the key on one object, with a reason.
    """
    return tuple(by_key("reserved_keys", "keys").values())


def reserved_key(key: str) -> ReservedKey | None:
    """Returns the entry that reserves a key of a label or annotation; None if users may set the key."""
    if key in FREE:
        return None
    return next((entry for entry in reserved_keys() if entry.reserves(key)), None)


def reserved_domain(key: str) -> str:
    """Returns the reserved domain to which the key of a node label or taint belongs; empty if users may set the key."""
    return next((entry.key[:-1] for entry in reserved_keys() if entry.of_nodes and entry.reserves(key)), "")


def is_free_label(key: str) -> bool:
    """Returns whether users may set a node label although a program reserves its domain.

    The kubelet may not set these labels, but users may: Karpenter sets them when it registers a node.

    Source: kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/labels.go (IsRestrictedLabel); aws/karpenter-provider-aws
    v1.14.1 pkg/providers/amifamily/resolver.go (RejectForbiddenLabels); k8s.io/kubernetes v1.35.4
    plugin/pkg/admission/noderestriction/admission.go
    """
    return any(_covers(free, key) for free in _FREE_ON_NODES)


def is_by_cloud(key: str) -> bool:
    """Returns whether nodes can have the label although their node pool does not set it, for example from the cloud."""
    return any(entry.by_cloud and entry.reserves(key) for entry in reserved_keys())


def _covers(entry: str, key: str) -> bool:
    if entry.endswith("."):
        return key.startswith(entry)
    return key == entry or (entry.endswith("/") and f".{key.rpartition('/')[0]}/".endswith(f".{entry}"))
