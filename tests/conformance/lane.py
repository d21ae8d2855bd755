"""A control plane that is kept for many specs: a start costs more than most of what is asked of it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from gpuc.catalog import load
from gpuc.emit import emit
from gpuc.model import resolve
from gpuc.pipeline.stages import CompiledSpec
from gpuc.rehearse.client import Client, Object
from gpuc.rehearse.context import RehearsalContext
from gpuc.rehearse.crds import Definitions, definitions
from gpuc.rehearse.health import wait_healthy
from gpuc.rehearse.plane import ControlPlane
from gpuc.rehearse.plane.karpenter import start_karpenter
from gpuc.rehearse.plane.kueue import start_kueue
from gpuc.rehearse.plane.kwok import start_kwok
from gpuc.rehearse.plane.settings import Settings
from gpuc.rehearse.ports import free_ports
from gpuc.rehearse.process import stop
from gpuc.rehearse.programs import find_programs
from gpuc.rehearse.substitute import replacement_objects, settings, simulated_document
from gpuc.rehearse.topology_labels import place_static_nodes
from gpuc.spec.parse import parse
from tests.pipeline.memory import source

Tree = dict[str, object]
KINDS = (
    "Namespace", "LimitRange", "ResourceQuota", "Topology", "ResourceFlavor", "Cohort", "WorkloadPriorityClass",
    "ClusterQueue", "NodeOverlay", "NodePool", "LocalQueue",
)  # fmt: skip
"""What Kueue, the scheduler, Karpenter and the namespace's quota decide by, in the order of their need."""
KEPT_KINDS = ("Namespace", "LimitRange", "ResourceQuota")
"""Kinds that the next spec writes over: random specs use the same names, and a Namespace takes long to go."""
READY_SECONDS = 180
HEALTH_SECONDS = 60
THREADS = 4
PORTS = 8
_NODE_CLASS = "KWOKNodeClass"


def compiled(tree: Tree, name: str = "prod-use1") -> CompiledSpec:
    """A spec tree in the place of an example's, compiled; random specs were checked where they are made."""
    changed = replace(source(name), tree=tree, raw={})
    cluster = resolve(parse(changed), changed.file, load())
    return CompiledSpec(changed, cluster, tuple(emit(cluster)), ())


def upstream_crds() -> Path | None:
    """The reference data's CustomResourceDefinitions; None where there are none."""
    shared = os.environ.get("GPUC_SHARED")
    return Path(shared) / "upstream" / "crds" if shared else None


class Lane:
    """One control plane, and the spec that it has now."""

    def __init__(self, plane: ControlPlane, crds: Definitions, first: Settings) -> None:
        self.plane = plane
        self.client: Client = plane.client
        self._crds = crds
        self.settings = first
        """What its programs were started with."""
        self._rehearsal: RehearsalContext | None = None

    def rehearse(self, spec: CompiledSpec) -> RehearsalContext:
        """Takes away the spec that the lane has and applies what decides about work of another."""
        self.empty()
        given = settings(spec, self._crds)
        # Kueue starts for all specs: how patient it is makes no difference to work whose nodes come in seconds.
        patience = {"waitForPodsReady": self.settings.kueue_configuration["waitForPodsReady"]}
        self.restart(replace(given, kueue_configuration={**given.kueue_configuration, **patience}))
        for document in replacement_objects(spec.cluster):
            self.client.apply(document)
        wanted = [each for each in spec.synced if each.kind in KINDS]
        for kind in KINDS:
            self.apply_all(simulated_document(each) for each in wanted if each.kind == kind)
        if sick := wait_healthy(self.client, wanted, HEALTH_SECONDS):
            raise AssertionError("; ".join(map(str, sick)))
        if lacking := place_static_nodes(self.client, spec.cluster, READY_SECONDS):
            raise AssertionError(f"static pools: {lacking}")
        self._rehearsal = RehearsalContext(spec, self.client)
        return self._rehearsal

    def restart(self, wanted: Settings) -> None:
        """Starts the programs anew that read at their start what differs between specs; the API server stays."""
        site = self.plane._site
        site._ports = free_ports(PORTS)
        changed = [
            name
            for name, differs in (
                ("kueue", wanted.kueue_configuration != self.settings.kueue_configuration),
                ("kwok", wanted.node_stages != self.settings.node_stages),
                ("karpenter-kwok", _provider(wanted) != _provider(self.settings)),
            )
            if differs
        ]
        stop(each for each in site.processes if each.name in changed)
        site.processes[:] = [each for each in site.processes if each.name not in changed]
        port = json.loads((site.folder / "kueue.json").read_text())["webhook"]["port"]
        starts: Mapping[str, Callable[[], object]] = {
            "kueue": lambda: start_kueue(site, wanted, port),
            "kwok": lambda: start_kwok(site, wanted),
            "karpenter-kwok": lambda: start_karpenter(site, wanted),
        }
        for name in changed:
            starts[name]()
        for process in site.processes:
            process.wait_ready(READY_SECONDS)
        self.settings = wanted

    def empty(self) -> None:
        """Removes what a spec has put there, nodes of static pools included."""
        if self._rehearsal is None:
            return
        self._rehearsal.clear()
        documents = [simulated_document(each) for each in self._rehearsal.spec.synced if each.kind in KINDS]
        documents += replacement_objects(self._rehearsal.cluster)
        leaving = [each for each in documents if each["kind"] not in KEPT_KINDS]
        for kind in (*reversed(KINDS), "DaemonSet", _NODE_CLASS):
            of_kind = [each for each in leaving if each["kind"] == kind]
            with ThreadPoolExecutor(THREADS) as pool:
                list(pool.map(self.remove, of_kind))
            self.wait_gone(of_kind)
            if kind == "NodePool":
                self._rehearsal.until("nodes are gone", lambda: not self._claims(), READY_SECONDS)
        self._rehearsal = None

    def apply_all(self, documents: Iterable[Object]) -> None:
        """Applies documents that do not need one another."""
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(self.client.apply, documents))

    def remove(self, document: Object) -> None:
        """Deletes an object."""
        metadata = document["metadata"]
        self.client.delete(document["apiVersion"], document["kind"], metadata["name"], metadata.get("namespace", ""))

    def wait_gone(self, documents: Iterable[Object]) -> None:
        """Raises: AssertionError when one of them is still there after a minute."""
        deadline = time.monotonic() + READY_SECONDS
        for each in documents:
            metadata = each["metadata"]
            place = each["apiVersion"], each["kind"], metadata["name"], metadata.get("namespace", "")
            while self.client.find(*place) is not None:
                assert time.monotonic() < deadline, f"{place} does not go"
                time.sleep(0.05)

    def _claims(self) -> list[Object]:
        return self.client.list_all("karpenter.sh/v1", "NodeClaim")


def _provider(given: Settings) -> tuple[object, object]:
    return given.instance_types, given.karpenter_gates


@contextmanager
def lane(first: CompiledSpec, progress: Callable[[str], None]) -> Iterator[Lane]:
    """A running control plane with upstream's definitions, for specs that need no more frameworks than the first."""
    programs = find_programs()
    crds = definitions(programs, upstream_crds(), first.cluster.spec.kueue.frameworks)
    given = settings(first, crds)
    with ControlPlane(programs, given, progress) as plane:
        yield Lane(plane, crds, given)
