"""The settings of a control plane, and its resources on this machine: folder, certificates, ports and processes."""

import datetime
import ipaddress
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from msgspec import Struct
from msgspec.structs import replace

from gpuc.documents.reader import load_yaml
from gpuc.manifest.manifest import Body
from gpuc_rehearsal.autoscaler import Autoscaler
from gpuc_rehearsal.client import ADMINISTRATORS
from gpuc_rehearsal.process import LOOPBACK, Process, free_ports, http_probe, record_process, start, stop
from gpuc_rehearsal.programs import Programs

PORTS = 16
"""Number of ports that are reserved at the same time, so that all of them are different."""
SERVICE_RANGE = "10.0.0.0/24"
LIFETIME_DAYS = 7


@cache
def _command_lines() -> dict[str, list[str]]:
    lines: dict[str, list[str]] = load_yaml(Path(__file__).with_name("command_lines.yaml").read_text(encoding="utf-8"))
    return lines


def flags(program: str, **values: object) -> list[str]:
    """Returns the flags of a program from command_lines.yaml. `values` replace placeholders such as {client}."""
    return [flag.format(loopback=LOOPBACK, **values) for flag in _command_lines()[program]]


class Settings(Struct, frozen=True):
    """The settings of a control plane: the CustomResourceDefinitions and programs that the control plane gets."""

    crds: Sequence[bytes | Body]
    """CustomResourceDefinitions: the bytes of a YAML file, or the parsed object."""
    kueue_configuration: Mapping[str, Any] | None
    """Kueue's complete configuration, with the values of a real cluster; None for a cluster without Kueue."""
    instance_types: Sequence[Body]
    """Instance types of the simulated provider; empty for a cluster without an autoscaler."""
    feature_gates: Mapping[str, bool]
    """Feature gates of the autoscaler by name."""
    node_stages: Sequence[Body]
    """kwok Stages for nodes."""
    policy_resources: Sequence[tuple[str, str]]
    """(API group, resource) of the objects that policies check. Gatekeeper's webhook receives no other objects."""
    autoscaler: Autoscaler | None = None
    has_gatekeeper: bool = True
    from_charts: bool = False
    """Whether charts install the controllers. If so, the control plane starts only Kubernetes and kwok, and
    DaemonSets create pods."""
    service_range: str = SERVICE_RANGE
    """The address range of Services, as a CIDR."""
    ignored_namespaces: Sequence[str] = ()
    """Namespaces whose pods kwok ignores, because another simulated kubelet runs these pods."""
    service_accounts: bool = False
    """Whether the API server requires that the ServiceAccount of a pod exists, as in a cluster. Otherwise pods can be
    created before the controller manager creates the ServiceAccount default."""


def with_nodes_of(settings: Settings, other: Settings) -> Settings:
    """Returns settings, plus the instance types and the Stages (rules of kwok) for nodes of other settings."""
    types = {row["name"]: row for row in (*settings.instance_types, *other.instance_types)}
    stages = {row["metadata"]["name"]: row for row in (*settings.node_stages, *other.node_stages)}
    return replace(settings, instance_types=tuple(types.values()), node_stages=tuple(stages.values()))


class Site:
    """The folder, certificate authority, ports and processes of one control plane."""

    def __init__(self, programs: Programs, folder: Path) -> None:
        self.programs, self.folder = programs, folder
        self.processes: list[Process] = []
        """Running programs in the order of their start."""
        self._ports: list[int] = []
        self.certificates = self.subfolder("certificates")
        self.authority = Authority(self.certificates)
        self.api_server_port = self.port()
        self.url = f"https://{LOOPBACK}:{self.api_server_port}"
        """URL of the API server."""
        self.admin = self.authority.issue("admin", "gpuc-rehearsal", ADMINISTRATORS)
        self.kubeconfig = self.folder / "kubeconfig"
        """Path of a kubeconfig with administrator credentials, for the programs and for kubectl."""
        self._write_kubeconfig(self.kubeconfig, self.admin)

    def kubeconfig_of(self, name: str, user: str) -> Path:
        """Writes a kubeconfig with administrator rights and another user name, and returns the path.

        Policies that depend on the user of a request then decide as in a real cluster. The program impersonates the
        user, because a name in a certificate has at most 64 characters.
        """
        path = self.folder / f"kubeconfig-{name}"
        self._write_kubeconfig(path, self.admin, {"as": user, "as-groups": [ADMINISTRATORS]})
        return path

    def port(self) -> int:
        """Returns a free port of this machine. No two calls return the same port."""
        if not self._ports:
            self._ports = free_ports(PORTS)
        return self._ports.pop()

    def subfolder(self, name: str) -> Path:
        """Returns the path of a subfolder of the folder of the control plane, and creates a missing subfolder."""
        path = self.folder / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def run(
        self,
        name: str,
        arguments: Iterable[str],
        ready: str | Callable[[], bool],
        environment: Mapping[str, str] | None = None,
        program: Path | None = None,
    ) -> Process:
        """Starts a program, which ends when the control plane ends.

        Args:
            name: the name of the process.
            ready: a URL that returns status 200 when the program is ready, or a function that then returns True.
            environment: additional environment variables.
            program: the path of the program; by default, the program that `gpuc tools` builds with this name.
        """
        process = self.spawn(name, program or self.programs.path(name), arguments, ready, environment or {})
        self.processes.append(process)
        return process

    def stop(self, names: Collection[str]) -> None:
        """Stops the running programs with these names. Other programs of the control plane continue."""
        stop(process for process in self.processes if process.name in names)
        self.processes[:] = [process for process in self.processes if process.name not in names]

    def spawn(
        self,
        name: str,
        program: Path,
        arguments: Iterable[str],
        ready: str | Callable[[], bool],
        environment: Mapping[str, str],
    ) -> Process:
        """Starts a program that the caller must stop. An earlier log of the same name is overwritten."""
        probe = http_probe(ready) if isinstance(ready, str) else ready
        log = self.subfolder("logs") / f"{name}.log"
        process = replace(start(program, arguments, log, probe, environment), name=name)
        record_process(self.folder, process.child.pid)
        return process

    def _write_kubeconfig(
        self, path: Path, credentials: tuple[Path, Path], impersonated: Mapping[str, str | list[str]] | None = None
    ) -> None:
        server = {"server": self.url, "certificate-authority": str(self.authority.file)}
        certificate = dict(zip(("client-certificate", "client-key"), map(str, credentials), strict=True))
        user = {**certificate, **(impersonated or {})}
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


class Authority:
    """A certificate authority for one rehearsal. Its folder contains the CA certificate and all issued certificates."""

    def __init__(self, folder: Path) -> None:
        """Creates a key, and writes the CA certificate to ca.crt in the folder."""
        self.folder = folder
        self.file = folder / "ca.crt"
        """The path of the CA certificate."""
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._certificate = self._sign("gpuc-rehearsal", "", (), self._key, authority=True)
        self.file.write_bytes(self._certificate.public_bytes(Encoding.PEM))

    def issue(self, name: str, common_name: str, group: str = "", hosts: tuple[str, ...] = ()) -> tuple[Path, Path]:
        """Issues a certificate, writes NAME.crt and NAME.key, and returns the paths of the two files.

        Args:
            group: the Kubernetes group of the client, stored as the organization of the subject.
            hosts: DNS names and IP addresses of a server; empty for a client certificate.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        certificate, private_key = self.folder / f"{name}.crt", self.folder / f"{name}.key"
        certificate.write_bytes(self._sign(common_name, group, hosts, key).public_bytes(Encoding.PEM))
        write_private_key(private_key, key)
        return certificate, private_key

    def _sign(
        self, name: str, group: str, hosts: tuple[str, ...], key: ec.EllipticCurvePrivateKey, authority: bool = False
    ) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        given = {NameOID.COMMON_NAME: name} | ({NameOID.ORGANIZATION_NAME: group} if group else {})
        subject = x509.Name([x509.NameAttribute(key, value) for key, value in given.items()])
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject if authority else self._certificate.subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(minutes=5))
            .not_valid_after(now + datetime.timedelta(days=LIFETIME_DAYS))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        )
        if hosts:
            names = x509.SubjectAlternativeName([_alternative_name(host) for host in hosts])
            builder = builder.add_extension(names, critical=False)
        return builder.sign(self._key, hashes.SHA256())


def write_private_key(file: Path, key: PrivateKeyTypes) -> None:
    """Writes a private key in PEM format with file mode 600."""
    file.touch(mode=0o600)
    file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()))


def _alternative_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
