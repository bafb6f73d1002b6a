"""The controller that is asked, and one that refuses a token: the client gets the next one and calls again, once."""

import grpc
import pytest

from aiopravega import errors
from aiopravega.control.proto import controller_pb2 as pb

YES = pb.ExistsResponse(exists=True)
REFUSED = (grpc.StatusCode.UNAUTHENTICATED, "")


@pytest.fixture
def file(tmp_path):
    """A file with a token."""
    file = tmp_path / "token"
    file.write_text("one")
    return file


def sent(server):
    return [metadata.get("authorization") for metadata in server.metadata]


@pytest.mark.parametrize("others", ["127.0.0.1:1,no-such-host.invalid:9090", "127.0.0.1:1, [::1]:1"])
async def test_of_several_controllers_one_that_answers_is_enough(serve, connect, others):
    server = serve({"checkScopeExists": [YES]})
    controller = connect(server.port, host=f"{others},127.0.0.1")

    await controller.ping()
    assert await controller.scope_exists("s")


async def test_a_refused_token_is_got_again_and_the_call_repeated(serve, connect, file):
    server = serve({"checkScopeExists": [YES, REFUSED, YES]})
    controller = connect(server.port, token_source=f"file:{file}")
    await controller.ping()

    file.write_text("two")
    assert await controller.scope_exists("s")

    assert sent(server) == ["Bearer one", "Bearer one", "Bearer two"]


async def test_a_token_that_is_refused_again_is_an_error(serve, connect, file):
    server = serve({"checkScopeExists": [YES, REFUSED]})
    controller = connect(server.port, token_source=f"file:{file}")
    await controller.ping()

    file.write_text("two")
    with pytest.raises(errors.AuthenticationError, match=r"the token of token_source \(file\) is refused, and asking"):
        await controller.scope_exists("s")

    assert sent(server) == ["Bearer one", "Bearer one", "Bearer two"]


async def test_the_same_token_is_not_sent_again(serve, connect, file):
    server = serve({"checkScopeExists": [REFUSED]})

    with pytest.raises(errors.AuthenticationError, match="gave the same one"):
        await connect(server.port, token_source=f"file:{file}").ping()

    assert sent(server) == ["Bearer one"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"username": "ada", "password": "p4ss"},
            "the password of account 'ada' is wrong, or there is no such account",
        ),
        ({"token": "t0ken"}, "the token is refused: it may have ended"),
        ({}, "the server asks for credentials and there are none: give username and password"),
    ],
)
async def test_a_refusal_names_the_account_and_what_to_check(serve, connect, settings, said):
    server = serve({"checkScopeExists": [REFUSED]})

    with pytest.raises(errors.AuthenticationError, match=said) as raised:
        await connect(server.port, **settings).ping()

    assert "no details" not in str(raised.value)
    assert not {"p4ss", "t0ken"} & set(str(raised.value).replace("'", " ").split())
