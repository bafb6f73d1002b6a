from pathlib import Path

from aiopravega import PravegaConfig
from airflow_pravega.spark.connector import connection_options


def test_options_say_how_to_reach_the_cluster(tmp_path: Path):
    ca = tmp_path / "ca.crt"
    ca.touch()
    config = PravegaConfig(
        controller_uri="tls://pravega:9090", username="ada", password="s3cret", ca_file=str(ca), scope="examples"
    )
    assert connection_options(config) == {
        "controller": "tls://pravega:9090",
        "verify_hostname": "true",
        "scope": "examples",
        "username": "ada",
        "password": "s3cret",
        "ca_file": str(ca),
    }


def test_options_leave_out_what_is_not_set():
    config = PravegaConfig(controller_uri="tcp://pravega:9090", token="t", verify_hostname=False)
    options = connection_options(config)
    assert options["token"] == "t"
    assert options["verify_hostname"] == "false"
    assert not options.keys() & {"username", "password", "ca_file", "scope"}
