"""A control plane that several specs share, because its start takes longer than most comparisons."""

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from gpuc.catalog import load
from gpuc.emit.emitters import emit
from gpuc.model import resolve
from gpuc.pipeline.stages import CompiledSpec
from gpuc.spec.parse import parse
from gpuc_rehearsal.client import Client, Object, address_of
from gpuc_rehearsal.context import RehearsalContext
from gpuc_rehearsal.crds import Definitions, definitions
from gpuc_rehearsal.health import place_static_nodes, wait_healthy
from gpuc_rehearsal.plane import ControlPlane
from gpuc_rehearsal.plane.kueue import start_kueue
from gpuc_rehearsal.plane.kwok import start_kwok
from gpuc_rehearsal.plane.site import Settings
from gpuc_rehearsal.process import free_ports
from gpuc_rehearsal.programs import Programs, find_programs
from gpuc_rehearsal.substitute import replacement_objects, settings, simulated_document
from gpuc_rehearsal.substrates.eks.karpenter import PROGRAM, start_program
from tests.conformance.local_controllers import with_definitions
from tests.pipeline.memory import source

Tree = dict[str, object]
KINDS = (
    "Namespace", "LimitRange", "ResourceQuota", "Topology", "ResourceFlavor", "Cohort", "WorkloadPriorityClass",
    "ClusterQueue", "NodeOverlay", "NodePool", "LocalQueue",
)  # fmt: skip
"""Kinds that decide about a workload, in the order in which they depend on one another."""
KEPT_KINDS = ("Namespace", "LimitRange", "ResourceQuota")
"""Kinds that the next spec overwrites: random specs use the same names, and deleting a Namespace takes long."""
READY_SECONDS = 180
HEALTH_SECONDS = 60
THREADS = 4
PORTS = 8
_NODE_CLASS = "KWOKNodeClass"


def compiled(tree: Tree, name: str = "prod-use1") -> CompiledSpec:
    """Compiles a spec tree in place of an example's. Checks do not run: the generator of random specs runs them."""
    changed = replace(source(name), tree=tree, raw={})
    cluster = resolve(parse(changed), changed.file, load())
    return CompiledSpec(changed, cluster, tuple(emit(cluster)), ())


def kueue_configuration(settings: Settings) -> Mapping[str, Any]:
    """Returns Kueue's configuration for a spec with queues: without queues, Kueue does not run."""
    assert settings.kueue_configuration is not None
    return settings.kueue_configuration


def upstream_crds() -> Path | None:
    """The folder of the CustomResourceDefinitions in the reference data; None if GPUC_SHARED is not set."""
    shared = os.environ.get("GPUC_SHARED")
    return Path(shared) / "upstream" / "crds" if shared else None


class SharedControlPlane:
    """A running control plane and the spec that is applied to it."""

    def __init__(self, plane: ControlPlane, crds: Definitions, first: Settings) -> None:
        self.plane = plane
        self.client: Client = plane.client
        self._crds = crds
        self.settings = first
        """The settings with which its programs were started."""
        self._rehearsal: RehearsalContext | None = None

    def rehearse(self, spec: CompiledSpec) -> RehearsalContext:
        """Removes the objects of the previous spec and applies those of this spec that decide about workloads."""
        self.empty()
        given = settings(spec, self._crds)
        # Kueue is not restarted for another waitForPodsReady: simulated nodes start within seconds.
        wait = {"waitForPodsReady": kueue_configuration(self.settings)["waitForPodsReady"]}
        self.restart(replace(given, kueue_configuration={**kueue_configuration(given), **wait}))
        for document in replacement_objects(spec.cluster):
            self.client.apply(document)
        wanted = [manifest for manifest in spec.synced if manifest.kind in KINDS]
        for kind in KINDS:
            self.apply_all(simulated_document(manifest) for manifest in wanted if manifest.kind == kind)
        if unhealthy := wait_healthy(self.client, wanted, HEALTH_SECONDS):
            raise AssertionError("; ".join(map(str, unhealthy)))
        if problem := place_static_nodes(self.client, spec.cluster, READY_SECONDS):
            raise AssertionError(f"static pools: {problem}")
        self._rehearsal = RehearsalContext(spec, self.client)
        return self._rehearsal

    def restart(self, wanted: Settings) -> None:
        """Restarts the programs whose settings differ; the API server keeps running."""
        site = self.plane.site
        site._ports = free_ports(PORTS)
        changed = [
            name
            for name, differs in (
                ("kueue", wanted.kueue_configuration != self.settings.kueue_configuration),
                ("kwok", wanted.node_stages != self.settings.node_stages),
                (PROGRAM, _provider_settings(wanted) != _provider_settings(self.settings)),
            )
            if differs
        ]
        site.stop(changed)
        port = json.loads((site.folder / "kueue.json").read_text())["webhook"]["port"]
        starts: Mapping[str, Callable[[], object]] = {
            "kueue": lambda: start_kueue(site, kueue_configuration(wanted), port),
            "kwok": lambda: start_kwok(site, wanted),
            PROGRAM: lambda: start_program(site, wanted),
        }
        for name in changed:
            starts[name]()
        for process in site.processes:
            process.wait_ready(READY_SECONDS)
        self.settings = wanted

    def empty(self) -> None:
        """Removes the objects of the applied spec, and the nodes of its static pools."""
        if self._rehearsal is None:
            return
        self._rehearsal.clear()
        documents = [simulated_document(manifest) for manifest in self._rehearsal.spec.synced if manifest.kind in KINDS]
        documents += replacement_objects(self._rehearsal.cluster)
        removed = [document for document in documents if document["kind"] not in KEPT_KINDS]
        for kind in (*reversed(KINDS), "DaemonSet", _NODE_CLASS):
            of_kind = [document for document in removed if document["kind"] == kind]
            with ThreadPoolExecutor(THREADS) as pool:
                list(pool.map(self.client.delete_object, of_kind))
            self.wait_removed(of_kind)
            if kind == "NodePool":
                self._rehearsal.until("nodes are gone", lambda: not self._claims(), READY_SECONDS)
        self._rehearsal = None

    def apply_all(self, documents: Iterable[Object]) -> None:
        """Applies documents in parallel; they must not depend on one another."""
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(self.client.apply, documents))

    def wait_removed(self, documents: Iterable[Object]) -> None:
        """Waits until objects are deleted. Raises: AssertionError if an object still exists after READY_SECONDS."""
        deadline = time.monotonic() + READY_SECONDS
        for document in documents:
            while self.client.find(*address_of(document)) is not None:
                assert time.monotonic() < deadline, f"{address_of(document)} was not deleted in {READY_SECONDS} s"
                time.sleep(0.05)

    def _claims(self) -> list[Object]:
        return self.client.list_all("karpenter.sh/v1", "NodeClaim")


def _provider_settings(settings: Settings) -> tuple[object, object]:
    return settings.instance_types, settings.feature_gates


@contextmanager
def shared_control_plane(
    first: CompiledSpec,
    progress: Callable[[str], None],
    more_crds: Iterable[bytes] = (),
    controllers: Mapping[str, Programs] | None = None,
) -> Iterator[SharedControlPlane]:
    """Starts a control plane. It serves the CRDs of the frameworks that the first spec uses, and the given CRDs.

    controllers: controllers of workloads by component, whose definitions replace others. The caller starts them.
    """
    programs = find_programs()
    crds = definitions(programs, upstream_crds(), first.cluster.frameworks)
    given = settings(first, crds)
    given = replace(given, crds=with_definitions((*given.crds, *more_crds), controllers or {}))
    with ControlPlane(programs, given, progress) as plane:
        yield SharedControlPlane(plane, crds, given)
