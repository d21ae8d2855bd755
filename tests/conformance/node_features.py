"""Compares the labels and taints that gpuc reads from NodeFeatureRules with those that the real nfd-master sets.

`make conformance-all` runs this module after `gpuc tools --nfd`. Without the program the test does not run. The nodes
are those of the example clusters on machines that exist. As nfd-worker does, the test writes a NodeFeature for each.

Source: kubernetes-sigs/node-feature-discovery v0.19.0 pkg/nfd-worker/nfd-worker.go (updateNodeFeatureObject),
source/system/system.go
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpuc.kubernetes.node_pool import HOSTNAME
from gpuc.manifest.manifest import Values
from gpuc.model import Cluster
from gpuc.model.names import DRIVER_LABEL, PROVEN_LABEL
from gpuc.substrates.on_premises.section import machines
from gpuc_rehearsal.client import Client, Object, new_object
from gpuc_rehearsal.context import NODE
from gpuc_rehearsal.plane.site import Site
from gpuc_rehearsal.process import LOOPBACK, poll
from gpuc_rehearsal.programs import Programs, find_programs
from gpuc_rehearsal.substrates.on_premises import NODES
from tests.conformance.bare_api_server import bare_plane, install, wait_established
from tests.conformance.check_result import CheckResult
from tests.conformance.local_controllers import with_controller
from tests.conftest import MACHINE_CLUSTERS, compiled_example, example

API = "nfd.k8s-sigs.io/v1alpha1"
NAMESPACE = "gpu-operator"
OTHER = "no-pool"
"""A node that no rule names."""
SECONDS = 90
OWN = (HOSTNAME, "kubernetes.io/os", "kubernetes.io/arch")
"""Labels of the kubelet."""
Features = tuple[dict[str, str], set[tuple[str, str, str]]]
"""The labels of a node, and its taints: key, value and effect."""


def features(node: Object) -> Features:
    """Returns the labels and taints of a node, without those of the kubelet and of the API server."""
    labels = {key: value for key, value in node["metadata"].get("labels", {}).items() if key not in OWN}
    taints = {(row["key"], row.get("value", ""), row["effect"]) for row in node.get("spec", {}).get("taints", ())}
    return labels, {taint for taint in taints if not taint[0].startswith("node.kubernetes.io/")}


def predicted(cluster: Cluster, liar: str) -> dict[str, Features]:
    """Returns what gpuc reads from the rules, by node.

    liar: a node whose firmware reports another product, and to which the GPU Operator gave the label of driver pods
        before nfd-master started. Without a rule about the label, the node keeps it.
    """
    found = {node["metadata"]["name"]: features(node) for node in NODES.nodes(cluster)}
    found[liar][0].pop(PROVEN_LABEL, None)
    found[liar][0].setdefault(DRIVER_LABEL, "true")
    return found | {OTHER: ({}, set())}


def node_feature(name: str, product: str) -> Object:
    """Returns the NodeFeature of a node."""
    attributes = {"system.name": {"nodename": name}, "system.dmiid": {"product_name": product}}
    spec = {"features": {"attributes": {key: {"elements": value} for key, value in attributes.items()}}, "labels": {}}
    labels = {"nfd.node.kubernetes.io/node-name": name}
    document = new_object(API, "NodeFeature", name, spec=spec)
    document["metadata"] |= {"namespace": NAMESPACE, "labels": labels}
    return document


def _prepare(client: Client, nfd: Programs, name: str, liar: str) -> None:
    """Creates the nodes, the rules of the cluster, and the NodeFeatures."""
    for definition in sorted(nfd.data("nfd-crds").glob("*crds.yaml")):
        for part in definition.read_bytes().split(b"\n---\n"):
            install(client, part)
    wait_established(client)
    client.create(new_object("v1", "Namespace", NAMESPACE))
    products = {
        node: "another product" if node == liar else pool.instances[0].dmi_product
        for pool in example(name).pools
        for node in machines(pool.spec).nodes
    }
    for node, product in {**products, OTHER: "another product"}.items():
        document = new_object(*NODE, node)
        # nfd-master patches single keys of both maps, which every node of a kubelet has.
        document["metadata"]["labels"] = {HOSTNAME: node, **({DRIVER_LABEL: "true"} if node == liar else {})}
        document["metadata"]["annotations"] = {"node.alpha.kubernetes.io/ttl": "0"}
        client.create(document)
        client.create(node_feature(node, product))
    for manifest in compiled_example(name).synced:
        if manifest.kind == "NodeFeatureRule":
            client.create(manifest.document())


def _start(site: Site, nfd: Programs, settings: Mapping[str, Any]) -> None:
    """Starts nfd-master with the configuration in the Helm values."""
    port = site.port()
    arguments = [f"-kubeconfig={site.kubeconfig}", "-config=", f"-options={json.dumps(settings)}", f"-port={port}"]
    environment = {"NODE_NAME": OTHER, "KUBERNETES_NAMESPACE": NAMESPACE}
    url = f"http://{LOOPBACK}:{port}/healthz"
    site.run("nfd", arguments, url, environment, nfd.path("nfd")).wait_ready(SECONDS)


def check(name: str, nfd: Programs) -> Iterator[CheckResult]:
    """Yields the results for one cluster."""
    (values,) = (
        artifact
        for artifact in compiled_example(name).artifacts
        if isinstance(artifact, Values) and artifact.component == "gpu-operator"
    )
    liar = next(reversed(machines(example(name).pools[-1].spec).nodes))
    expected = predicted(example(name), liar)
    with bare_plane(find_programs()) as (site, client):
        _prepare(client, nfd, name, liar)
        _start(site, nfd, values.body["node-feature-discovery"]["master"]["config"])

        def found() -> dict[str, Features]:
            return {node["metadata"]["name"]: features(node) for node in client.list_all(*NODE)}

        poll(lambda: found() == expected, SECONDS, 1)
        real = found()
        different = [
            f"{node}: expected {row}, found {real.get(node)}" for node, row in expected.items() if real[node] != row
        ]
        yield CheckResult(
            f"nfd-master gives the nodes of {name} the labels and taints that gpuc reads", "\n".join(different),
            f"{len(expected)} nodes",
        )  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    """Runs the checks of all example clusters of machines; returns 1 if one fails."""
    return with_controller(
        "nfd", "NodeFeatureRules", lambda nfd: (result for name in MACHINE_CLUSTERS for result in check(name, nfd))
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
