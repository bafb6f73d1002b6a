"""An Airflow connection of the type `aws` as access to object stores, by the hook of Airflow's provider for Amazon.

So all that the connection may say works: keys, roles that are assumed, profiles, identities of the machine. Tokens that
end are renewed by the hook's session when a table is opened.
"""

from collections.abc import Mapping
from typing import Any, Final

from airflow.providers.common.compat.sdk import BaseHook, mask_secret

from aiopravega.errors import ConfigurationError, TableUnavailableError
from airflow_pravega.connections.fields import errors_named
from pravega_jobs.landing.store_access import StoreAccess

TYPE: Final = "aws"
_SERVICE: Final = "s3"
# Settings of botocore by which a store would be reached in another way.
_OTHER_WAYS: Final = ("proxies", "proxies_config", "s3", "client_cert")


def store_access(conn_id: str | None) -> StoreAccess | None:
    """The access of a connection; None: no connection is named, and libraries find all by themselves.

    Its secrets are masked in logs.

    Raises:
        AirflowNotFoundException: there is no such connection.
        ConfigurationError: Amazon's provider is not installed, or the connection cannot work.
        TableUnavailableError: AWS gives no keys now.
    """
    if conn_id is None:
        return None
    connection = BaseHook.get_connection(conn_id)  # the hook takes a missing one for the environment
    try:
        from airflow.providers.amazon.aws.hooks.base_aws import AwsBaseHook
    except ImportError:
        raise ConfigurationError(
            f"the connection {conn_id!r} needs Airflow's provider for Amazon: pip install "
            "'airflow-provider-pravega[amazon]'"
        ) from None
    with errors_named(connection):
        if connection.conn_type != TYPE:
            raise ConfigurationError(f"its type is {connection.conn_type!r}, but must be {TYPE!r}")
        return _access(AwsBaseHook(aws_conn_id=conn_id, client_type=_SERVICE), conn_id)


def _access(hook: Any, conn_id: str) -> StoreAccess:
    _check(hook)
    region, endpoint = hook.region_name, hook.conn_config.get_service_endpoint_url(_SERVICE)
    keys = _asked(conn_id, lambda: hook.get_session().get_credentials())
    if keys is None:
        raise ConfigurationError("it has no keys, and the machine has none either: give it a login and a password")

    def read() -> Mapping[str, str]:
        now = _asked(conn_id, keys.get_frozen_credentials)  # renews them, if they end soon
        for secret in (now.secret_key, now.token):
            if secret:
                mask_secret(secret)
        found = {
            "aws_access_key_id": now.access_key,
            "aws_secret_access_key": now.secret_key,
            "aws_session_token": now.token,
            "aws_region": region,
            "aws_endpoint_url": endpoint,
        }
        return {name: value for name, value in found.items() if value}

    return StoreAccess(read)


def _check(hook: Any) -> None:
    settings = hook.conn_config.botocore_config
    given = [name for name in _OTHER_WAYS if getattr(settings, name, None)]
    if hook.verify is not None:
        given.append("verify")
    if given:
        raise ConfigurationError(
            f"its extras say {', '.join(given)}, which tables in object stores do not follow: make a connection without"
        )


def _asked(conn_id: str, ask: Any) -> Any:
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        return ask()
    except (BotoCoreError, ClientError) as error:
        raise TableUnavailableError(f"connection {conn_id!r}: AWS gives no keys: {error}") from error
