"""The document of the options is made from their types, and up to date."""

from __future__ import annotations

import re

from scripts import options_table
from scripts.rule_citations import ROOT


def test_document_is_up_to_date() -> None:
    assert options_table.main(["--check"]) == 0


def test_options_that_the_readme_shows_are_documented() -> None:
    readme = (ROOT / "README.md").read_text().partition("## The data source")[2].partition("**Exactly once.**")[0]
    documented = set(re.findall(r"^\| `([^`]+)` \|", options_table.document(), re.MULTILINE))

    shown = {
        name
        for names in re.findall(r"^\| (`[^|]+`) \|", readme, re.MULTILINE)
        for name in re.findall("`([^`]+)`", names)
    }

    assert "kraft.bootstrap.servers" in shown
    assert shown <= documented
