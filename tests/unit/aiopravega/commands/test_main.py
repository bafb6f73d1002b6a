"""`pravega`: every topic is found by its name."""

import pytest

from aiopravega.commands.main import main


def test_the_command_lists_its_topics(capsys) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "cuts" in capsys.readouterr().out


@pytest.mark.parametrize("topic", ["catalog", "tables", "schema", "ledger", "cuts", "backfill"])
def test_every_topic_explains_itself(topic: str, capsys) -> None:
    with pytest.raises(SystemExit, match="0"):
        main([topic, "--help"])
    assert capsys.readouterr().out.startswith(f"usage: pravega {topic} ")


def test_a_topic_that_is_not_there_is_refused(capsys) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["streams"])
    assert "invalid choice: 'streams'" in capsys.readouterr().err
