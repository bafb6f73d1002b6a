"""The command `pravega schema check` on files: what it prints, and its exit codes."""

import json

import pytest

from aiopravega.commands.main import main

OLD = {"type": "record", "name": "User", "namespace": "demo", "fields": [{"name": "id", "type": "int"}]}
NEW = OLD | {"fields": [{"name": "id", "type": "long"}, {"name": "email", "type": "string"}]}


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """Writes files and runs the command on them; returns the exit code, the output and the errors."""
    monkeypatch.chdir(tmp_path)

    def run(*words, **files):
        for name, content in files.items():
            (tmp_path / name.replace("_", ".")).write_text(content if isinstance(content, str) else json.dumps(content))
        code = main(["schema", "check", *words])
        return code, *capsys.readouterr()

    return run


def test_violations_are_a_table_and_exit_code_1(check):
    code, out, _ = check("--old", "old.avsc", "--new", "new.avsc", old_avsc=OLD, new_avsc=NEW)
    assert code == 1
    head, _, row, remedy, _, summary = out.splitlines()
    assert head.split() == ["version", "direction", "path", "rule", "old", "new"]
    assert row.split()[:5] == ["0", "backward", "User.email", "field-without-default", "(absent)"]
    assert remedy.strip() == "remedy: give email a default, or an alias if it is a renamed field"
    assert summary == "not compatible: 1 violation (Avro, Backward, compared with versions: 0)"


def test_a_compatible_schema_is_exit_code_0(check):
    code, out, _ = check("--old", "old.avsc", "--new", "new.avsc", "--policy", "AllowAny", old_avsc=OLD, new_avsc=NEW)
    assert (code, out) == (0, "compatible (Avro, AllowAny, compared with versions: none)\n")


def test_several_old_schemas_are_versions_from_0_on(check):
    words = ["--old", "a.avsc", "--old", "b.avsc", "--new", "c.avsc", "--json"]
    code, out, _ = check(*words, "--policy", "ForwardTill=1+BackwardTransitive", a_avsc=OLD, b_avsc=NEW, c_avsc=NEW)
    report = json.loads(out)
    assert code == 1
    assert [each["version"] for each in report["compared"]] == [0, 1]
    assert [(each["version"], each["direction"], each["path"]) for each in report["violations"]] == [
        (0, "backward", "User.email")
    ]


def test_what_columns_cannot_hold_is_asked_for(check):
    tree = OLD | {"fields": [*OLD["fields"], {"name": "next", "type": ["null", "User"], "default": None}]}
    words = ["--old", "old.avsc", "--new", "new.avsc"]
    assert check(*words, old_avsc=OLD, new_avsc=tree)[0] == 0
    code, out, _ = check(*words, "--as-columns")
    assert code == 1
    assert "User.next" in out
    assert "column-recursion" in out


def test_json_schema_and_declared_properties(check):
    old, new = '{"properties": {"a": {}}}', '{"properties": {"a": {}, "b": {"type": "string"}}}'
    words = ["--old", "old.json", "--new", "new.json"]
    code, out, _ = check(*words, old_json=old, new_json=new)
    assert code == 1
    assert "$.b" in out
    assert check(*words, "--declared-only")[0] == 0


def test_the_format_can_be_said_when_the_ending_does_not(check):
    code, out, _ = check("--old", "old.txt", "--new", "new.txt", "--format", "avro", old_txt=OLD, new_txt=NEW)
    assert (code, "Avro" in out) == (1, True)


def test_proto_files_are_compiled(check):
    text = 'syntax = "proto3"; message User { int64 id = 1; } message Other {}'
    old, new = text, text.replace("int64", "int32")
    words = ["--old", "old.proto", "--new", "new.proto"]
    code, _, errors = check(*words, old_proto=old, new_proto=new)
    assert code == 2
    assert "name that of the events by --type" in errors
    code, out, _ = check(*words, "--type", "User")
    assert code == 1
    assert "values-changed" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--new", "none.avsc"], "cannot read the schema none.avsc"),
        (["--new", "new.avsc", "--policy", "Sideways"], "no compatibility policy 'Sideways'"),
        (["--new", "bad.avsc"], "InvalidSchemaError"),
        (["--new", "new.txt"], "does not have the ending of a schema"),
    ],
)
def test_what_cannot_work_is_exit_code_2(check, words, message):
    code, out, errors = check("--old", "old.avsc", *words, old_avsc=OLD, new_avsc=NEW, bad_avsc="{", new_txt="{}")
    assert (code, out) == (2, "")
    assert message in errors
