"""tests/README.md has one line for each folder of tests, and the commands that it names exist."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
README = (TESTS / "README.md").read_text()
_LINE = re.compile(r"^\| `(\w+)` \|", re.MULTILINE)
_COMMAND = re.compile(r"python -m tests\.([\w.]+)")


def test_readme_has_one_line_for_each_folder_and_no_other_line() -> None:
    folders = sorted(path.name for path in TESTS.iterdir() if path.is_dir() and path.name != "__pycache__")

    assert _LINE.findall(README) == folders


def test_command_that_the_readme_names_exists() -> None:
    modules = [TESTS / name.replace(".", "/") for name in _COMMAND.findall(README)]

    assert modules
    assert not [path for path in modules if not ((path / "__main__.py").exists() or path.with_suffix(".py").exists())]
