"""Keys of labels and annotations that programs read. A user who sets such a key would change what the programs do."""

from functools import cache

from msgspec import Struct

from gpuc.catalog.records import Sources
from gpuc.catalog.rows import by_key


class ReservedKey(Struct, frozen=True):
    """A key, or all keys of a domain, with the program that reads them."""

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
        """Returns whether the entry is about a key."""
        return _covers(self.key, key)


FREE = ("app.kubernetes.io/part-of", "app.kubernetes.io/version")
"""Keys of a reserved domain that no program reads."""
_FREE_ON_NODES = (
    "node-role.kubernetes.io/", "node-restriction.kubernetes.io/",
    "node.kubernetes.io/exclude-from-external-load-balancers",
)  # fmt: skip


@cache
def reserved_keys() -> tuple[ReservedKey, ...]:
    """Returns the keys of all programs that gpuc installs, and of programs that read labels of a namespace.

    A label of the spec is on many objects. So a reserved key could switch off policies, hooks or pruning for all these
    objects. A patch changes one object, with a reason. A Job with a container of Istio or Linkerd may also never end.
    """
    return tuple(by_key("reserved_keys", "keys").values())


def reserved_key(key: str) -> ReservedKey | None:
    """Returns the entry that reserves a key of a label or an annotation; None for a free key."""
    if key in FREE:
        return None
    return next((entry for entry in reserved_keys() if entry.reserves(key)), None)


def reserved_domain(key: str) -> str:
    """Returns the reserved domain of the key of a node label or a taint; empty if the key is not reserved."""
    return next((entry.key[:-1] for entry in reserved_keys() if entry.of_nodes and entry.reserves(key)), "")


def is_free_label(key: str) -> bool:
    """Returns whether users may set a node label although its domain is reserved.

    Karpenter sets these labels itself when it registers a node, because the kubelet may not set them.

    Source: kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/labels.go (IsRestrictedLabel); aws/karpenter-provider-aws
    v1.14.1 pkg/providers/amifamily/resolver.go (RejectForbiddenLabels); k8s.io/kubernetes v1.35.4
    plugin/pkg/admission/noderestriction/admission.go
    """
    return any(_covers(free, key) for free in _FREE_ON_NODES)


def is_by_cloud(key: str) -> bool:
    """Returns whether nodes can have a label with the key even if their node pool does not set it."""
    return any(entry.by_cloud and entry.reserves(key) for entry in reserved_keys())


def _covers(entry: str, key: str) -> bool:
    if entry.endswith("."):
        return key.startswith(entry)
    return key == entry or (entry.endswith("/") and f".{key.rpartition('/')[0]}/".endswith(f".{entry}"))
