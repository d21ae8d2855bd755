"""What existing nodes add to the output and to the README of a cluster: NodeFeatureRules, and their chapters."""

import json
from collections.abc import Iterator
from pathlib import Path as File

from gpuc.emit.alerts.alert import any_of
from gpuc.emit.component import Folder
from gpuc.emit.substrate import SubstrateOutput
from gpuc.emit.sync import protected
from gpuc.kubernetes.amounts import PODS, quantity_text
from gpuc.manifest.manifest import Artifact, Body, Manifest
from gpuc.model import Cluster, Pool
from gpuc.model.names import ALLOCATABLE, POOL_LABEL, SERVER_LABEL
from gpuc.substrates.none.chapters import members, network, nodes
from gpuc.substrates.none.section import SECTIONS, existing, machines

RULE_API = "nfd.k8s-sigs.io/v1alpha1"
_WAVE = 5


def _rules(cluster: Cluster) -> Iterator[Artifact]:
    """Yields a NodeFeatureRule for each pool, which gives the named nodes the labels and taints of the pool.

    No Node objects: with a wrong name, one in Git would be a node without a kubelet, and a prune would delete nodes.
    """
    for pool in cluster.pools:
        annotations = protected(cluster, _WAVE) | {ALLOCATABLE: _allocatable(cluster, pool)}
        file, origin = cluster.out(f"nodes/{pool.name}.yaml"), (*pool.path, SECTIONS.pool_key)
        body: Body = {"spec": {"rules": [_rule(pool)]}}
        yield Manifest(file, origin, RULE_API, "NodeFeatureRule", pool.name, body, annotations=annotations)


def _rule(pool: Pool) -> Body:
    """Returns the rule of a pool.

    Source: kubernetes-sigs/node-feature-discovery v0.19.0 docs/usage/customization-guide.md: the feature system.name
    has the attribute nodename; master-configuration-reference.md: enableTaints
    """
    names = {"op": "In", "value": machines(pool.spec).names}
    return {
        "name": pool.name,
        "labels": {**pool.labels, SERVER_LABEL: pool.instances[0].type},
        "taints": [{"key": taint.key, "value": taint.value, "effect": taint.effect} for taint in pool.taints],
        "matchFeatures": [{"feature": "system.name", "matchExpressions": {"nodename": names}}],
    }


def _allocatable(cluster: Cluster, pool: Pool) -> str:
    """Returns the allocatable resources of a node as JSON, with which `gpuc trace` and `gpuc lint` know the nodes."""
    amounts = pool.allocatable(pool.instances[0]) | {PODS: existing(cluster.spec.cloud).pods}
    return json.dumps({name: quantity_text(name, amount) for name, amount in sorted(amounts.items())})


def _node_names(cluster: Cluster) -> list[str]:
    return [name for pool in cluster.pools for name in machines(pool.spec).names]


OUTPUT = SubstrateOutput(
    sections=SECTIONS,
    folder=File(__file__).parent,
    cluster_name=lambda cluster: cluster.name,
    endpoints="endpoints",
    texts=lambda cluster: {"pool_label": POOL_LABEL},
    values=lambda cluster: {"machines": machines},
    add_ons=("add-on/coredns", "add-on/kube-proxy"),
    machines="nodes",
    nodes_metric=lambda cluster: f'count(kube_node_info{{node=~"{any_of(_node_names(cluster))}"}}) > 0',
    pool_label=POOL_LABEL,
    labels_by_rules=True,
    artifacts=_rules,
    folders=(Folder("nodes", "labels and taints of nodes", _WAVE, is_protected=True),),
    cluster_kinds=(("nfd.k8s-sigs.io", "NodeFeatureRule"),),
    chapters={10: nodes, 30: network, 80: members},
)
