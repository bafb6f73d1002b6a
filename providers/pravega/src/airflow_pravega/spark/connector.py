"""The data source `pravega` as the operators use it: its connection options, and its errors.

Spark hands errors of Python data sources on as text, a traceback inside a Java exception; here they become errors of
the client again.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pydantic import SecretStr

from aiopravega import PravegaConfig
from aiopravega.errors import PravegaError
from airflow_pravega.failures import named_error

FORMAT: Final = "pravega"
# The last line of a traceback that ends with an error of the client.
_ERROR: Final = re.compile(r"^aiopravega\.errors\.(\w+): (.*)$", re.MULTILINE)


def connection_options(config: PravegaConfig) -> dict[str, str]:
    """The options of a read or a write that reach the cluster; passwords and tokens are among them: never log them."""
    options = {
        "controller": config.controller_uri,
        "verify_hostname": str(config.verify_hostname).lower(),
        "scope": config.scope,
        "username": config.username,
        "password": _reveal(config.password),
        "token": _reveal(config.token),
        "ca_file": config.ca_file,
    }
    return {name: value for name, value in options.items() if value is not None}


def _reveal(secret: SecretStr | None) -> str | None:
    return None if secret is None else secret.get_secret_value()


@contextmanager
def errors_of_the_client() -> Iterator[None]:
    """Run a block of Spark, and raise what failed inside the data source as the error that it was.

    Raises:
        PravegaError: the error of the data source.
    """
    try:
        yield
    except PravegaError:
        raise
    except Exception as error:
        found = _ERROR.findall(str(error))
        if not found:
            raise
        raise named_error(*found[-1]) from error
