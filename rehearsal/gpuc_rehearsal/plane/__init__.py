"""A Kubernetes control plane: real programs, which listen on the loopback interface of this machine."""

import json
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import rsa

from gpuc.manifest.cache_folder import cache_folder
from gpuc.manifest.manifest import Body
from gpuc_rehearsal.client import DEFINITION, Client, is_true
from gpuc_rehearsal.plane import kueue as charts
from gpuc_rehearsal.plane.kwok import start_kwok
from gpuc_rehearsal.plane.site import SERVICE_RANGE, Settings, Site, flags, write_private_key
from gpuc_rehearsal.process import LOOPBACK, Process, Started, run_folder, stop
from gpuc_rehearsal.programs import Programs

READY_SECONDS = 120
CRD_THREADS = 4
GARBAGE_COLLECTION = {"GOGC": "400", "GOMEMLIMIT": "850MiB"}
"""Environment variables for less frequent garbage collection. With the defaults of Go, garbage collection takes a fifth
of the API server's CPU time."""


class ControlPlane(Started):
    """A context manager that runs a control plane. The end of the `with` block removes its processes and files."""

    def __init__(self, programs: Programs, settings: Settings, progress: Callable[[str], None]) -> None:
        self._programs = programs
        self._settings = settings
        self._progress = progress

    def start(self, stack: ExitStack) -> None:
        """Starts the programs of the control plane, and creates the CustomResourceDefinitions.

        Raises:
            ProgramError: if a program does not start.
            ApiError: if the API server refuses an object that the programs need.
        """
        folder = stack.enter_context(run_folder(Path(cache_folder("rehearse"))))
        self.site = Site(self._programs, folder)
        """The folder, ports and processes of the control plane. Callers can start further programs with `run`."""
        stack.callback(lambda: stop(reversed(self.site.processes)))
        self.client = Client(self.site.url, self.site.authority.file, self.site.admin)
        self._start_programs()

    def memory_mib(self) -> int:
        """Returns the resident memory in MiB of all programs of the control plane together."""
        return sum(process.memory_mib() for process in self.site.processes)

    def require_alive(self) -> None:
        """Raises a ProgramError if a program of the control plane has ended."""
        for process in self.site.processes:
            process.require_alive()

    def _start_programs(self) -> None:
        """Starts Kubernetes and kwok, and the controllers that no chart installs, with the webhooks of their charts."""
        site, settings = self.site, self._settings
        etcd, url = start_etcd(site)
        self._wait_ready("etcd", [etcd])
        api_server = start_api_server(site, url, settings.service_range, service_accounts=settings.service_accounts)
        self._wait_ready("API server", [api_server])
        manager = start_controller_manager(site, daemon_sets=settings.from_charts)
        core = [manager, start_scheduler(site), start_kwok(site, settings)]
        started = time.monotonic()
        _create_definitions(self.client, settings.crds)
        kueue_port, gatekeeper_port = site.port(), site.port()
        kueue = None if settings.from_charts else settings.kueue_configuration
        has_gatekeeper = settings.has_gatekeeper and not settings.from_charts
        if has_gatekeeper:
            charts.prepare_webhook(site, self.client, settings, gatekeeper_port)
        if kueue is not None:
            charts.prepare_webhooks(site, self.client, kueue_port)
        is_established = partial(is_true, kind="Established")
        for definition in self.client.list_all(*DEFINITION):
            if not is_established(definition):
                self.client.wait_for(*DEFINITION, definition["metadata"]["name"], is_established, READY_SECONDS)
        self._report(f"{len(settings.crds)} CustomResourceDefinitions", started)
        controllers = [charts.start_kueue(site, kueue, kueue_port)] if kueue is not None else []
        if has_gatekeeper:
            controllers.append(charts.start_gatekeeper(site, gatekeeper_port))
        if not settings.from_charts and settings.autoscaler:
            controllers.append(settings.autoscaler.start(site, settings))
        if kueue is not None:
            started = time.monotonic()
            charts.mount_certificate(site, self.client, controllers[0])
            self._report("certificate of Kueue", started)
        self._wait_ready("controllers", [*core, *controllers])

    def _wait_ready(self, step: str, processes: Iterable[Process]) -> None:
        """Waits until the processes are ready, and reports the duration of the step."""
        started = time.monotonic()
        for process in processes:
            process.wait_ready(READY_SECONDS)
        self._report(step, started)

    def _report(self, step: str, started: float) -> None:
        self._progress(f"{step}: {time.monotonic() - started:.1f} s")


def _create_definitions(client: Client, crds: Iterable[bytes | Body]) -> None:
    """Creates CustomResourceDefinitions. Sends files unparsed: some are YAML that Python's parsers reject."""
    address = f"{client.path(*DEFINITION)}?fieldManager=gpuc"

    def post(definition: bytes | Body) -> None:
        data = definition if isinstance(definition, bytes) else json.dumps(definition).encode()
        client.send("POST", address, data, "application/yaml")

    with ThreadPoolExecutor(CRD_THREADS) as pool:
        list(pool.map(post, crds))


def start_etcd(site: Site) -> tuple[Process, str]:
    """Starts etcd, and returns the process and the URL for clients."""
    client, peer = (f"http://{LOOPBACK}:{site.port()}" for _ in range(2))
    return site.run("etcd", flags("etcd", site=site, client=client, peer=peer), f"{client}/health"), client


def start_api_server(
    site: Site, etcd_url: str, service_range: str = SERVICE_RANGE, *, service_accounts: bool = False
) -> Process:
    """Starts the API server with RBAC, its default admission plugins, and ExtendedResourceToleration.

    Without `service_accounts`, the admission plugin ServiceAccount is off, so pods need no ServiceAccount.
    """
    hosts = (LOOPBACK, "localhost", "kubernetes.default.svc")
    certificate, key = site.authority.issue("apiserver", "kube-apiserver", hosts=hosts)
    proxy_certificate, proxy_key = site.authority.issue("front-proxy", "front-proxy-client")
    accounts = site.certificates / "service-accounts.key"
    write_private_key(accounts, rsa.generate_private_key(public_exponent=65537, key_size=2048))
    arguments = flags(
        "kube-apiserver", site=site, etcd=etcd_url, service_range=service_range, accounts=accounts,
        certificate=certificate, key=key, proxy_certificate=proxy_certificate, proxy_key=proxy_key,
    )  # fmt: skip
    if not service_accounts:
        # The plugin ServiceAccount refuses pods until the namespace has its default ServiceAccount.
        arguments.append("--disable-admission-plugins=ServiceAccount")
    return site.run("kube-apiserver", arguments, f"{site.url}/readyz", GARBAGE_COLLECTION)


def start_scheduler(site: Site) -> Process:
    """Starts the scheduler. If a pod fits on no node, the scheduler reports it, and an autoscaler can start a node."""
    port = site.port()
    return site.run("kube-scheduler", flags("controllers", site=site, port=port), f"https://{LOOPBACK}:{port}/healthz")


def start_controller_manager(site: Site, *, daemon_sets: bool = False) -> Process:
    """Starts the controller manager of Kubernetes.

    The DaemonSet controller runs only with `daemon_sets`.
    """
    port = site.port()
    # The allocatable resources of simulated nodes already exclude the requests of DaemonSet pods, and these pods
    # would start too late.
    controllers = "*" if daemon_sets else "*,-daemonset-controller"
    own = flags("kube-controller-manager", site=site, controllers=controllers)
    arguments = [*flags("controllers", site=site, port=port), *own]
    return site.run("kube-controller-manager", arguments, f"https://{LOOPBACK}:{port}/healthz")
