"""Fail when a doc, a comment or a message uses a phrase that `words.txt` replaces by a plainer one."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORDS = Path(__file__).with_name("words.txt")
# Vectors come from elsewhere; the list itself has to name the phrases.
PATTERNS = ("*.py", "*.md", "*.toml", "*.sh", ":!tests/vectors", ":!tests/unit/house")


def phrases() -> dict[str, str]:
    """Each phrase, and what to write instead."""
    lines = WORDS.read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t") for line in lines if line and not line.startswith("#"))


def findings(text: str, banned: dict[str, str]) -> list[tuple[int, str]]:
    """The lines where a phrase begins, counted from one, and the phrase; it may go over the end of a line."""
    spaces = r"(?: |\n\s*(?:# ?)?)"
    words = [spaces.join(map(re.escape, phrase.split(" "))) for phrase in banned]
    pattern = re.compile(rf"\b(?:{'|'.join(words)})\b", re.IGNORECASE)
    return [
        (text.count("\n", 0, found.start()) + 1, " ".join(found[0].lower().replace("#", "").split()))
        for found in pattern.finditer(text)
    ]


def main() -> int:
    """Check every file that git knows or would add."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *PATTERNS]
    names = subprocess.run(listed, check=True, capture_output=True, text=True, cwd=ROOT).stdout.splitlines()
    banned = phrases()
    bad = [
        f"{name}:{number}: {phrase!r}: write {banned[phrase]!r}"
        for name in names
        if (ROOT / name).is_file()
        for number, phrase in findings((ROOT / name).read_text(encoding="utf-8"), banned)
    ]
    print("\n".join(bad) or f"none of {len(banned)} banned phrases in {len(names)} files")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
