"""The documents of the options and of a node's properties are made from their tables, and up to date."""

from __future__ import annotations

import re
from types import ModuleType

import pytest

from scripts import options_table, properties_table
from scripts.rule_citations import ROOT


@pytest.mark.parametrize("script", [options_table, properties_table], ids=["options", "properties"])
def test_document_is_up_to_date(script: ModuleType) -> None:
    assert script.main(["--check"]) == 0


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
