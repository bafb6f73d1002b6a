"""The resource's configuration, its secrets, and the options that it gives Spark. No server."""

import dagster as dg
import pytest
from dagster_shared.libraries import DagsterLibraryRegistry

from aiopravega import StreamCut, StreamCutRange, StreamName
from aiopravega.errors import ConfigurationError
from aiopravega.names import SegmentId
from dagster_pravega import PravegaResource, PravegaSparkIOManager, RangeConfig

SECRET = "s3cret-pass"


@pytest.fixture(autouse=True)
def _no_settings_around(monkeypatch):
    for name in ("CONTROLLER_URI", "SCOPE", "USERNAME", "PASSWORD", "TOKEN", "CA_FILE", "VERIFY_HOSTNAME"):
        monkeypatch.delenv(f"PRAVEGA_{name}", raising=False)


def test_what_is_not_given_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv("PRAVEGA_CONTROLLER_URI", "tcp://somewhere:9090")
    monkeypatch.setenv("PRAVEGA_SCOPE", "examples")

    resource = PravegaResource(request_timeout=5)

    assert resource.get_config().controller_uri == "tcp://somewhere:9090"
    assert resource.get_config().request_timeout == 5
    assert resource.stream_name("flights") == StreamName("examples", "flights")


def test_a_source_of_tokens_reaches_the_client_and_spark():
    resource = PravegaResource(controller_uri="tcp://here:9090", token_source="file:/run/token")

    assert resource.get_config().token_source == "file:/run/token"
    assert resource.spark_options()["token_source"] == "file:/run/token"


def test_what_is_given_wins_over_the_environment(monkeypatch):
    monkeypatch.setenv("PRAVEGA_CONTROLLER_URI", "tcp://somewhere:9090")
    assert PravegaResource(controller_uri="tcp://here:9090").get_config().controller_uri == "tcp://here:9090"


@pytest.mark.parametrize("owner", [PravegaResource, PravegaSparkIOManager, RangeConfig])
def test_every_field_is_described(owner):
    fields = [field for name, field in owner.model_fields.items() if name != "pravega"]
    assert fields
    assert all(field.description for field in fields)


def test_secrets_are_in_no_representation(monkeypatch):
    monkeypatch.setenv("MY_PASSWORD", SECRET)
    given = PravegaResource(username="u", password=dg.EnvVar("MY_PASSWORD"))
    with dg.build_resources({"pravega": given}) as resources:
        resource = resources.pravega

        assert resource.password == SECRET
        for shown in (repr(resource), str(resource), repr(resource.get_config())):
            assert SECRET not in shown
    assert SECRET not in repr(PravegaResource(token=SECRET))


def test_dagster_keeps_the_name_of_a_secrets_variable_and_not_its_value(monkeypatch):
    monkeypatch.setenv("MY_PASSWORD", SECRET)
    resource = PravegaResource(username="u", password=dg.EnvVar("MY_PASSWORD"))

    assert SECRET not in str(resource.get_resource_definition().config_schema.default_value)
    shape = resource.get_resource_definition().config_schema.config_type
    assert isinstance(shape, dg.Shape)
    assert {name for name, field in shape.fields.items() if field.is_secret} == {"password", "token"}


def test_sparks_options_name_the_cluster_the_stream_and_the_range():
    resource = PravegaResource(controller_uri="tcp://here:9090", scope="examples", username="u", password=SECRET)
    stream = StreamName("examples", "flights")
    cuts = StreamCutRange(*(StreamCut(stream, {SegmentId(stream, 0, 0): offset}) for offset in (0, 8)))

    assert resource.spark_options("flights", cuts) == {
        "controller": "tcp://here:9090",
        "scope": "examples",
        "stream": "examples/flights",
        "username": "u",
        "password": SECRET,
        "verify_hostname": "true",
        "max_event_bytes": "2147483639",
        "start_stream_cut": cuts.start.to_text(),
        "end_stream_cut": cuts.end.to_text(),
    }
    assert "stream" not in resource.spark_options()


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"controller_uri": "http://here:9090"}, "write tcp://host:port"),
        ({"controller_uri": "tcp://here"}, "no host and port"),
        ({"username": "u"}, "username and password go together"),
        ({"controller_uri": "tls://here:9090", "ca_file": "/no/such/file"}, "does not exist"),
    ],
)
def test_a_configuration_that_cannot_work_is_refused(fields, complaint):
    with pytest.raises(ConfigurationError, match=complaint):
        PravegaResource(**fields).get_config()


def test_a_run_finds_a_wrong_configuration_before_any_step():
    steps = []

    @dg.op
    def step(pravega: PravegaResource) -> None:
        steps.append(pravega)

    @dg.job(resource_defs={"pravega": PravegaResource(controller_uri="http://here:9090")})
    def job():
        step()

    with dg.DagsterInstance.ephemeral() as instance:
        result = job.execute_in_process(raise_on_error=False, instance=instance)

    assert not result.success
    assert steps == []


def test_the_library_is_registered_with_dagster():
    assert "dagster-pravega" in DagsterLibraryRegistry.get()
