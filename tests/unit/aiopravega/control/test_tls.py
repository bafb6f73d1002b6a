"""TLS to the controller: what is wrong with a certificate or a scheme is said, with the remedy."""

import ipaddress

import pytest
from cryptography import x509

from aiopravega import errors
from aiopravega.control.proto import controller_pb2 as pb

YES = {"checkScopeExists": [pb.ExistsResponse(exists=True)]}
LOCAL = x509.IPAddress(ipaddress.IPv4Address("127.0.0.1"))


async def test_a_certificate_for_the_address_from_a_known_authority_is_trusted(serve, connect, certificate):
    certified = certificate(LOCAL)
    server = serve(YES, certified)

    await connect(server.port, "tls", ca_file=str(certified.ca_file)).ping()


async def test_an_authority_that_is_not_known_asks_for_the_ca_file(serve, connect, certificate):
    server = serve(YES, certificate(LOCAL))
    stranger = certificate(LOCAL)

    for settings in ({}, {"ca_file": str(stranger.ca_file)}):
        with pytest.raises(errors.TlsError, match=r"not trusted.*ca_file"):
            await connect(server.port, "tls", **settings).ping()


async def test_a_certificate_for_another_name_is_refused_with_the_ways_out(serve, connect, certificate):
    certified = certificate(x509.DNSName("elsewhere.example"))
    server = serve(YES, certified)

    with pytest.raises(errors.TlsError, match=r"another name.*verify_hostname=False"):
        await connect(server.port, "tls", ca_file=str(certified.ca_file)).ping()


@pytest.mark.parametrize(
    "name",
    [x509.DNSName("elsewhere.example"), x509.DNSName("*.elsewhere.example"), LOCAL],
    ids=["name", "wildcard", "address"],
)
async def test_names_need_not_be_checked(serve, connect, certificate, name):
    certified = certificate(name)
    server = serve(YES, certified)

    await connect(server.port, "tls", ca_file=str(certified.ca_file), verify_hostname=False).ping()


async def test_without_checking_names_the_authority_still_counts(serve, connect, certificate):
    server = serve(YES, certificate(LOCAL))
    stranger = certificate(LOCAL)

    with pytest.raises(errors.TlsError, match="ca_file"):
        await connect(server.port, "tls", ca_file=str(stranger.ca_file), verify_hostname=False).ping()


@pytest.mark.parametrize("verify_hostname", [True, False])
async def test_a_server_without_tls_is_noticed(serve, connect, certificate, verify_hostname):
    server = serve(YES)
    ca_file = str(certificate(LOCAL).ca_file)

    with pytest.raises(errors.TlsError, match=r"does not speak TLS.*tcp://127"):
        await connect(server.port, "tls", ca_file=ca_file, verify_hostname=verify_hostname).ping()


async def test_a_server_with_tls_is_noticed_by_a_plain_client(serve, connect, certificate):
    server = serve(YES, certificate(LOCAL))

    with pytest.raises(errors.TlsError, match=rf"speaks TLS\. Use tls://127\.0\.0\.1:{server.port}"):
        await connect(server.port).ping()


@pytest.mark.parametrize("verify_hostname", [True, False])
async def test_a_missing_server_is_not_an_error_of_tls(connect, certificate, verify_hostname):
    ca_file = str(certificate(LOCAL).ca_file)

    with pytest.raises(errors.PravegaConnectionError, match="controller is running"):
        await connect(1, "tls", ca_file=ca_file, verify_hostname=verify_hostname, retry_timeout=0).scope_exists("s")


async def test_a_ca_file_without_certificates_is_named(connect, tmp_path):
    (tmp_path / "ca.crt").write_text("no certificate")

    with pytest.raises(errors.TlsError, match=r"ca\.crt"):
        await connect(1, "tls", ca_file=str(tmp_path / "ca.crt")).ping()
