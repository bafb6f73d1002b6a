import logging

import pytest

from pravega_jobs.spark.frames import keep_secrets_out_of_logs

CANARY = "canary-of-a-password"


@pytest.mark.parametrize("name", ["py4j.java_gateway", "py4j.clientserver"])
@pytest.mark.parametrize("option", ["password", "token", "schema_registry_password"])
def test_a_command_that_sets_a_secret_is_not_logged(name, option, caplog):
    keep_secrets_out_of_logs()
    keep_secrets_out_of_logs()
    logger = logging.getLogger(name)

    with caplog.at_level(logging.DEBUG, logger=name):
        logger.debug(f"Command to send: c\no25\noption\ns{option}\ns{CANARY}\ne\n")  # noqa: G004 - as py4j does it
        logger.debug("Command to send: c\no25\noption\nsstream\nsexamples/orders\ne\n")
        logger.warning("a token is missing")

    assert CANARY not in caplog.text
    assert [record.levelno for record in caplog.records] == [logging.DEBUG, logging.WARNING]
    assert "examples/orders" in caplog.text
