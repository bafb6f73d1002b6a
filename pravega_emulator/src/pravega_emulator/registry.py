"""The Schema Registry 0.6.0 as a process beside Pravega, keeping its schemas in Pravega's tables."""

import ssl
import urllib.error
import urllib.request

from pravega_emulator.lifecycle import Workplace
from pravega_emulator.process import ServerProcess
from pravega_emulator.security import Security

_MAIN = "io.pravega.schemaregistry.service.Main"
_HEAP_MEGABYTES = 256
_ANSWER_SECONDS = 5.0


def registry_process(workplace: Workplace, security: Security, controller_uri: str, port: int) -> ServerProcess:
    """A registry, not started yet, for the Pravega at `controller_uri`; Pravega must be ready before it starts."""
    settings = {
        "schemaRegistry.store.type.name": "Pravega",
        "schemaRegistry.store.pravega.controller.connect.uri": controller_uri,
        "schemaRegistry.service.rest.published.host.nameOrIp": "127.0.0.1",
        "schemaRegistry.service.rest.listener.port": str(port),
    }
    if files := security.certificates:
        settings |= {
            "schemaRegistry.store.pravega.controller.connect.security.tls.trustStore.location": str(files.ca),
            "schemaRegistry.store.pravega.controller.connect.security.tls.validateHostName.enable": "true",
            "schemaRegistry.security.tls.enable": "true",
            "schemaRegistry.security.tls.server.certificate.location": str(files.chain),
            "schemaRegistry.security.tls.server.privateKey.location": str(files.key_store),
            "schemaRegistry.security.tls.server.privateKey.pwd.location": str(files.password_file),
        }
    if security.accounts:
        settings |= {
            "schemaRegistry.store.pravega.controller.connect.auth.method": "Basic",
            "schemaRegistry.store.pravega.controller.connect.auth.token": security.admin_token(),
            "schemaRegistry.security.auth.enable": "true",
            "schemaRegistry.security.pwdAuthHandler.accountsDb.location": str(security.accounts_file),
        }
    file = workplace.write_settings("schema-registry.properties", settings)
    return workplace.process(
        "schema-registry", [_MAIN], heap_megabytes=_HEAP_MEGABYTES, options=[f"-Dconfig.file={file}"]
    )


def registry_uri(security: Security, port: int) -> str:
    """The URI at which the registry listens."""
    return f"{'https' if security.certificates else 'http'}://{security.host}:{port}"


def registry_problem(uri: str, security: Security) -> str | None:
    """The registry's wrong answer; None if it answers with its list of groups, which it reads from Pravega."""
    request = urllib.request.Request(f"{uri}/v1/groups?limit=1")
    if security.accounts:
        request.add_header("Authorization", f"Basic {security.admin_token()}")
    context = ssl.create_default_context(cafile=security.ca_file) if security.ca_file else None
    # A proxy of the environment does not know this machine's ports.
    handlers = [urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)]
    try:
        urllib.request.build_opener(*handlers).open(request, timeout=_ANSWER_SECONDS).close()
    except (OSError, urllib.error.HTTPError) as error:
        return f"{uri} answered: {error}"
    return None
