"""A certificate authority and a server certificate for `localhost`, made again for every server.

They are for servers on this machine only: keys lie in the server's folder and are as short-lived as that folder.
"""

import datetime as dt
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12

# The embedded server has this password of its trust store built in; the key store gets the same.
STORE_PASSWORD = "1111_aaaa"
HOST = "localhost"
_LIFETIME = dt.timedelta(days=365)
# Clocks of containers and virtual machines differ a little.
_BACKDATED = dt.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Certificates:
    """The files of one server: PEM for Pravega and its clients, PKCS#12 for ZooKeeper and REST."""

    ca: Path
    key: Path
    chain: Path
    key_store: Path
    trust_store: Path
    password_file: Path


def make_certificates(folder: Path) -> Certificates:
    """Write a new authority, and a certificate of `localhost` and 127.0.0.1 that it signed, into `folder`."""
    now = dt.datetime.now(dt.UTC)

    def builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _BACKDATED)
            .not_valid_after(now + _LIFETIME)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        )

    def name(common_name: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, common_name)])

    def usage(*, signs_certificates: bool) -> x509.KeyUsage:
        return x509.KeyUsage(
            digital_signature=not signs_certificates,
            key_cert_sign=signs_certificates,
            crl_sign=signs_certificates,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )

    ca_name = name("Pravega emulator CA")
    ca_key, server_key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    ca = (
        builder(ca_name, ca_name, ca_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage(signs_certificates=True), critical=True)
        .sign(ca_key, hashes.SHA256())
    )
    hosts = [x509.DNSName(HOST), x509.IPAddress(ipaddress.IPv4Address("127.0.0.1"))]
    # The server's parts also call each other, as clients.
    roles = [x509.oid.ExtendedKeyUsageOID.SERVER_AUTH, x509.oid.ExtendedKeyUsageOID.CLIENT_AUTH]
    server = (
        builder(name(HOST), ca_name, server_key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(roles), critical=False)
        .add_extension(x509.SubjectAlternativeName(hosts), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False)
        .sign(ca_key, hashes.SHA256())
    )

    pem = serialization.Encoding.PEM
    private_key = server_key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    protection = serialization.BestAvailableEncryption(STORE_PASSWORD.encode())
    store = pkcs12.serialize_key_and_certificates(HOST.encode(), server_key, server, [ca], protection)
    trusted = pkcs12.serialize_java_truststore([pkcs12.PKCS12Certificate(ca, b"ca")], protection)
    return Certificates(
        ca=_write(folder / "ca.crt", ca.public_bytes(pem)),
        key=_write(folder / "server.key", private_key),
        chain=_write(folder / "server.crt", server.public_bytes(pem) + ca.public_bytes(pem)),
        key_store=_write(folder / "keystore.p12", store),
        trust_store=_write(folder / "truststore.p12", trusted),
        password_file=_write(folder / "store.password", STORE_PASSWORD.encode()),
    )


def _write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_bytes(content)
    return path
