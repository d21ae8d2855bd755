"""Resources of one control plane on this machine: folder, certificate authority, ports and processes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from gpuc.rehearse.certificates import Authority
from gpuc.rehearse.ports import LOOPBACK, free_ports
from gpuc.rehearse.process import Process, http_probe, start
from gpuc.rehearse.programs import Programs
from gpuc.rehearse.run_folder import record_process

PORTS = 16
"""Number of ports that are reserved at the same time, so that all of them are different."""

ADMINISTRATORS = "system:masters"
"""The group whose members RBAC allows everything."""


@dataclass
class Site:
    """The folder, certificate authority, ports and processes of one control plane."""

    programs: Programs
    folder: Path
    processes: list[Process] = field(default_factory=list)
    """Running programs in the order of their start."""

    def __post_init__(self) -> None:
        self._ports: list[int] = []
        self.certificates = self.subfolder("certificates")
        self.authority = Authority(self.certificates)
        self.api_server_port = self.port()
        self.admin = self.authority.issue("admin", "gpuc-rehearsal", ADMINISTRATORS)
        self._write_kubeconfig(self.kubeconfig, self.admin)

    @property
    def url(self) -> str:
        """URL of the API server."""
        return f"https://{LOOPBACK}:{self.api_server_port}"

    @property
    def kubeconfig(self) -> Path:
        """Path of a kubeconfig with administrator credentials, for the programs and for kubectl."""
        return self.folder / "kubeconfig"

    def kubeconfig_of(self, name: str, user: str) -> Path:
        """Writes a kubeconfig with administrator rights for another user name, and returns the path.

        Policies that depend on the user of a request decide as in a real cluster, where the program has this user name.
        """
        path = self.folder / f"kubeconfig-{name}"
        self._write_kubeconfig(path, self.authority.issue(f"user-{name}", user, ADMINISTRATORS))
        return path

    def port(self) -> int:
        """Returns a free port. Every call returns a different port."""
        if not self._ports:
            self._ports = free_ports(PORTS)
        return self._ports.pop()

    def subfolder(self, name: str) -> Path:
        """Returns a subfolder of the control plane's folder. Creates a missing subfolder."""
        path = self.folder / name
        path.mkdir(exist_ok=True)
        return path

    def run(
        self,
        name: str,
        arguments: Iterable[str],
        ready_url: str | Callable[[], bool],
        environment: Mapping[str, str] | None = None,
    ) -> Process:
        """Starts a program that `gpuc tools` builds. The program ends with the control plane.

        Args:
            name: name of the program.
            arguments: arguments of the command line.
            ready_url: a URL that returns status 200 when the program is ready, or a function that returns True then.
            environment: additional environment variables.
        """
        return self.run_program(name, self.programs.path(name), arguments, ready_url, environment or {})

    def run_program(
        self,
        name: str,
        program: Path,
        arguments: Iterable[str],
        ready_url: str | Callable[[], bool],
        environment: Mapping[str, str],
    ) -> Process:
        """Starts any program. The program ends with the control plane. The arguments are those of `run`."""
        process = self.spawn(name, program, arguments, ready_url, environment)
        self.processes.append(process)
        return process

    def spawn(
        self,
        name: str,
        program: Path,
        arguments: Iterable[str],
        ready_url: str | Callable[[], bool],
        environment: Mapping[str, str],
    ) -> Process:
        """Starts a program that the caller must stop. A second program with the same name overwrites the log."""
        ready = http_probe(ready_url) if isinstance(ready_url, str) else ready_url
        log = self.subfolder("logs") / f"{name}.log"
        process = replace(start(program, arguments, log, ready, environment), name=name)
        record_process(self.folder, process.child.pid)
        return process

    def _write_kubeconfig(self, path: Path, credentials: tuple[Path, Path]) -> None:
        certificate, key = map(str, credentials)
        server = {"server": self.url, "certificate-authority": str(self.authority.file)}
        user = {"client-certificate": certificate, "client-key": key}
        name = "rehearsal"
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": server}],
            "users": [{"name": name, "user": user}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "current-context": name,
        }
        path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
