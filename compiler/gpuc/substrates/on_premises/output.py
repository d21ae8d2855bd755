"""What existing nodes add to the output and to the README of a cluster: NodeFeatureRules, and chapters."""

import json
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path as File

from gpuc.emit.alerts.alert import any_of
from gpuc.emit.component import Folder
from gpuc.emit.substrate import SubstrateOutput
from gpuc.emit.sync import protected
from gpuc.kubernetes.amounts import PODS, quantity_text
from gpuc.manifest.manifest import Artifact, Body, Manifest
from gpuc.model import Cluster, Pool
from gpuc.model.names import ALLOCATABLE, DRIVER_LABEL, EXCLUDED, POOL_LABEL, PROVEN_LABEL, SERVER_LABEL, WHY
from gpuc.substrates.on_premises.alerts import alert_labels, node_alerts
from gpuc.substrates.on_premises.chapters import members, network, nodes, shares
from gpuc.substrates.on_premises.kubelet import node_files, settings
from gpuc.substrates.on_premises.section import SECTIONS, by_rack, existing, machines
from gpuc.substrates.on_premises.volumes import volumes

RULE_API = "nfd.k8s-sigs.io/v1alpha1"
_WAVE = 5


def _feature_rules(cluster: Cluster) -> Iterator[Artifact]:
    """Yields a NodeFeatureRule for each pool, which gives the named nodes the labels and taints of the pool."""
    for pool in cluster.pools:
        excluded = machines(pool.spec).excluded.items()
        reasons = {WHY: "; ".join(f"{name} is excluded: {reason}" for name, reason in excluded)} if excluded else {}
        annotations = protected(cluster, _WAVE) | {ALLOCATABLE: _allocatable(cluster, pool)} | reasons
        file, origin = cluster.out(f"nodes/{pool.name}.yaml"), (*pool.path, SECTIONS.pool_key)
        body: Body = {"spec": {"rules": [*_rules(cluster, pool)]}}
        yield Manifest(file, origin, RULE_API, "NodeFeatureRule", pool.name, body, annotations=annotations)


def _rules(cluster: Cluster, pool: Pool) -> Iterator[Body]:
    """Yields the rules of a pool: its labels and taints, then racks, excluded nodes, and the proof of the server.

    Source: kubernetes-sigs/node-feature-discovery v0.19.0 docs/usage/customization-guide.md: the feature system.name
    has the attribute nodename; master-configuration-reference.md: enableTaints; source/system/system.go: dmiid
    """
    section, server = machines(pool.spec), pool.instances[0]
    taints = [{"key": taint.key, "value": taint.value, "effect": taint.effect} for taint in pool.taints]
    driver = {DRIVER_LABEL: "false"} if pool.is_gpu and pool.image.driver == "image" else {}
    yield {
        "name": pool.name,
        "labels": {**pool.labels, SERVER_LABEL: server.type, **driver},
        "taints": taints,
        "matchFeatures": [_named(section.nodes)],
    }
    for rack, names in by_rack(cluster.spec.cloud, section.nodes).items() if "rack" in pool.level_labels else ():
        labels = {pool.level_labels["rack"]: rack}
        yield {"name": f"rack {rack}", "labels": labels, "matchFeatures": [_named(names)]}
    if left_out := [name for name in section.nodes if name in section.excluded]:
        taint = {"key": EXCLUDED, "value": "true", "effect": "NoSchedule"}
        yield {"name": "excluded nodes", "taints": [taint], "matchFeatures": [_named(left_out)]}
    if server.dmi_product:
        product = {"product_name": {"op": "In", "value": [server.dmi_product]}}
        proof = {"feature": "system.dmiid", "matchExpressions": product}
        matches, labels = [_named(section.nodes), proof], {PROVEN_LABEL: server.type}
        yield {"name": "product name of the server", "labels": labels, "matchFeatures": matches}


def _named(nodes: Iterable[str]) -> Body:
    return {"feature": "system.name", "matchExpressions": {"nodename": {"op": "In", "value": [*nodes]}}}


def _allocatable(cluster: Cluster, pool: Pool) -> str:
    """Returns the allocatable resources of a node as JSON, with which `gpuc trace` and `gpuc lint` know the nodes."""
    return json.dumps(_amounts(cluster, pool))


def _amounts(cluster: Cluster, pool: Pool) -> dict[str, str]:
    amounts = pool.allocatable(pool.instances[0]) | {PODS: existing(cluster.spec.cloud).pods}
    return {name: quantity_text(name, amount) for name, amount in sorted(amounts.items())}


def _node_names(cluster: Cluster) -> list[str]:
    return [name for pool in cluster.pools for name in machines(pool.spec).nodes]


def _values(cluster: Cluster) -> dict[str, object]:
    section = existing(cluster.spec.cloud)
    spared = [pool for pool in cluster.pools if pool.spares]
    return {
        "settings": partial(settings, cluster),
        "amounts": partial(_amounts, cluster),
        "machines": machines,
        "by_operator": [pool.name for pool in cluster.gpu_pools if pool.image.driver == "operator"],
        "by_host": [pool.name for pool in cluster.gpu_pools if pool.image.driver == "image"],
        "racks": section.racks,
        "spared": spared,
        "memlock": section.memlock == "unlimited",
    }


OUTPUT = SubstrateOutput(
    sections=SECTIONS,
    folder=File(__file__).parent,
    cluster_name=lambda cluster: cluster.name,
    endpoints="endpoints",
    texts=lambda cluster: {"pool_label": POOL_LABEL},
    values=_values,
    add_ons=("add-on/coredns", "add-on/kube-proxy"),
    machines="nodes",
    nodes_metric=lambda cluster: f'count(kube_node_info{{node=~"{any_of(_node_names(cluster))}"}}) > 0',
    alerts=node_alerts,
    alert_labels=alert_labels,
    pool_label=POOL_LABEL,
    labels_by_rules=True,
    artifacts=lambda cluster: chain(_feature_rules(cluster), volumes(cluster), node_files(cluster)),
    claims=lambda namespace: {claim: volume.read_only for claim, volume in namespace.spec.volumes.items()},
    folders=(Folder("nodes", "labels and taints of nodes", _WAVE, is_protected=True),),
    cluster_kinds=(("nfd.k8s-sigs.io", "NodeFeatureRule"),),
    chapters={10: nodes, 30: network, 60: shares, 80: members},
)
