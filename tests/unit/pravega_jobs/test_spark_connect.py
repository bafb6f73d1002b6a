import pytest

from aiopravega.errors import ConfigurationError
from pravega_jobs.spark.connect import check_url


@pytest.mark.parametrize("url", ["sc://spark", "sc://spark:15002", "sc://spark:15002/;use_ssl=true;user_id=ada"])
def test_a_url_of_a_server_without_secrets_can_be_stored(url):
    check_url(url)


@pytest.mark.parametrize("url", ["local[*]", "spark://spark:7077", "yarn"])
def test_only_a_server_continues_without_its_client(url):
    with pytest.raises(ConfigurationError, match="only a Spark Connect server"):
        check_url(url)


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("sc://spark/;use_ssl=true;token=s3cret", "token"),
        ("sc://spark/;x-api-key=s3cret", "x-api-key"),
        ("sc://spark/;session_id=1", "session_id"),
        ("sc://ada:s3cret@spark", "a user"),
    ],
)
def test_a_url_with_what_may_be_secret_is_refused_by_name(url, named):
    with pytest.raises(ConfigurationError, match=f"has {named}, but it is stored") as refused:
        check_url(url)
    assert "s3cret" not in str(refused.value)
