"""Temporary certificates of one run, and the certificate authority that signs them."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

LIFETIME_DAYS = 7


class Authority:
    """A certificate authority of one run. The folder receives the CA certificate and all issued certificates."""

    def __init__(self, folder: Path) -> None:
        """Creates a key, and writes the CA certificate to ca.crt in the folder."""
        self.folder = folder
        self.file = folder / "ca.crt"
        """The path of the CA certificate."""
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._certificate = self._sign("gpuc-rehearsal", "", (), self._key, authority=True)
        self.file.write_bytes(self._certificate.public_bytes(Encoding.PEM))

    def issue(self, name: str, common_name: str, group: str = "", hosts: tuple[str, ...] = ()) -> tuple[Path, Path]:
        """Issues a certificate, writes <name>.crt and <name>.key, and returns the paths of both files.

        Args:
            group: Kubernetes group of the client, stored as the organization of the subject.
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


def write_service_account_key(file: Path) -> None:
    """Writes the RSA key that signs the tokens of ServiceAccounts."""
    write_private_key(file, rsa.generate_private_key(public_exponent=65537, key_size=2048))


def write_private_key(file: Path, key: PrivateKeyTypes) -> None:
    """Writes a private key in PEM format with file mode 600."""
    file.touch(mode=0o600)
    file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()))


def _alternative_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
