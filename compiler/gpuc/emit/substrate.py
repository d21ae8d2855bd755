"""The class SubstrateOutput: what a substrate (the place where a cluster lives) adds to the output and the README.

Each folder of gpuc.substrates has a module output.py with the variable OUTPUT. gpuc finds the folders, so there is no
list of substrates.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path as File
from typing import TYPE_CHECKING

from msgspec import Struct

from gpuc.manifest.manifest import Artifact, Kind
from gpuc.model import Cluster, Namespace
from gpuc.spec.substrate import Sections, substrate_records

if TYPE_CHECKING:
    from gpuc.emit.alerts.alert import Alert
    from gpuc.emit.component import Folder
    from gpuc.emit.prerequisites.record import Chapter


class SubstrateOutput(Struct, frozen=True, kw_only=True):
    """What a substrate adds to the output and the README of its clusters: chapters, objects, folders and alerts."""

    sections: Sections
    """The sections of the spec."""
    folder: File
    """The folder with cluster.md.j2, which extends the README of clusters, and health.yaml.j2, which extends
    argocd-health.yaml.j2."""
    cluster_name: Callable[[Cluster], str]
    """Returns the name of the Kubernetes cluster for the engineers who use it."""
    endpoints: str
    """What has the addresses in `network.endpointCidrs`, as words for messages."""
    texts: Callable[[Cluster], Mapping[str, str]]
    """Returns the variables of the texts of prerequisites."""
    values: Callable[[Cluster], Mapping[str, object]]
    """Returns the variables of all templates of the README."""
    add_ons: tuple[str, str]
    """The ids of the records about CoreDNS and kube-proxy."""
    alerts: "Callable[[Cluster], Iterator[Alert]]"
    """Yields the alerts about nodes that only this substrate has."""
    alert_labels: Callable[[Cluster], tuple[str, ...]]
    """Returns the node labels that these alerts read, without the label of the pool."""
    pool_label: str
    """The node label that exactly the nodes of pools have. Controllers run on other nodes."""
    labels_by_rules: bool
    """Whether Node Feature Discovery sets the labels and taints of the nodes of pools."""
    machines: str
    """The kind of the objects that show the nodes, for kubectl."""
    nodes_metric: Callable[[Cluster], str]
    """Returns an expression of Prometheus that is true while the cluster has nodes of its pools."""
    artifacts: Callable[[Cluster], Iterator[Artifact]]
    """Yields the objects of the substrate that belong to no component."""
    claims: Callable[[Namespace], Mapping[str, bool]]
    """Returns the PersistentVolumeClaims in these objects by name, and whether pods can only read their volume."""
    folders: "tuple[Folder, ...]"
    """The folders of these objects below out/<cluster>/."""
    cluster_kinds: tuple[Kind, ...]
    """The kinds of these objects, which have no namespace."""
    chapters: "Mapping[int, Callable[[Cluster], Chapter]]"
    """The chapters about what the cluster needs, by place: the order in which an engineer needs them."""


def substrate_output(cluster: Cluster) -> SubstrateOutput:
    """Returns the SubstrateOutput of the cluster's substrate: the variable OUTPUT in the substrate's output.py."""
    record: SubstrateOutput = substrate_records("output", "OUTPUT")[cluster.spec.cloud.substrate.name]
    return record
