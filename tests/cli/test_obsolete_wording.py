"""Forms of the tool that only drafts of KIP-595 had."""

from __future__ import annotations

import pytest

from tests.cli.in_process import KraftInProcess


@pytest.mark.parametrize("what", ["status", "replication"])
@pytest.mark.rule("DESCRIBE-12")
def test_describe_refuses_the_wording_of_the_draft(here: KraftInProcess, what: str) -> None:
    done = here("quorum", "describe", "--bootstrap-server", "127.0.0.1:9", "--describe", what)

    assert (done.exit_code, done.output) == (2, "")
    assert "No such option: --describe" in done.errors
