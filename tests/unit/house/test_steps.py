"""The steps that a reader finds on a page, and the terminal in which a walk does them."""

import os
from pathlib import Path

import pytest
from tests.pages.steps import commands_of, steps_of
from tests.walks.terminal import StepTimeoutError, Terminal

PAGE = """# A page
You need this:

```
mkdir -p folder && cd folder
cat <<'END'
a document
END
one --option \\
    --another
```

Save this as `folder/file.py`. It is a program:

```python
print("saved")
```

```yaml
key: value
```

## Later
1. Type this:

   ```python
   if True:
       print("typed")
   ```
"""


def test_a_page_has_commands_files_and_python_in_its_order() -> None:
    steps = steps_of(PAGE)

    assert [(step.text, str(step.file or ""), step.python, step.section) for step in steps] == [
        ("mkdir -p folder && cd folder", "", False, ""),
        ("cat <<'END'\na document\nEND", "", False, ""),
        ("one --option \\\n    --another", "", False, ""),
        ('print("saved")\n', "folder/file.py", False, ""),
        ('if True:\n    print("typed")\n', "", True, "Later"),
    ]


def test_a_command_without_an_end_is_refused() -> None:
    with pytest.raises(ValueError, match="has no end"):
        commands_of("cat <<'END'\nno end\n")


def test_a_terminal_keeps_its_folder_and_reports_what_fails(tmp_path: Path) -> None:
    with Terminal(tmp_path, tmp_path / "log", os.environ["PATH"], {"GIVEN": "1"}) as terminal:
        assert terminal.run("mkdir -p folder && cd folder && export MINE=2", 60) == 0
        assert terminal.run('test "$GIVEN $MINE ${PWD##*/}" = "1 2 folder"', 60) == 0
        assert terminal.run("false", 60) == 1
        running = terminal.start("exec sleep 600")
        terminal.interrupt(running, 60)
        terminal.open_python("python3")
        blocks = ["def f():\n    return 1\n\n\nassert f() == 1", "1 / 0", "f()", "def broken(:", "f()"]
        assert [terminal.paste(block, 60) for block in blocks] == [0, 1, 0, 1, 0]
        assert terminal.leave_python(60) == 0
        with pytest.raises(StepTimeoutError, match=r"did not end within 0\.1 s"):
            terminal.run("sleep 600", 0.1)
        assert terminal.run('test "$MINE" = 2', 60) == 0

    assert "ZeroDivisionError" in terminal.said()
