"""A secret in the output of a node, or in a file of a run, is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.leaks import leaks_in, passwords_in
from tests.node.harness.keys import password_of


@pytest.mark.parametrize(
    ("line", "found"),
    [
        pytest.param("dropped a connection: it did not authenticate; address=127.0.0.1", [], id="no secret"),
        pytest.param("password=secret-of-alice", ["a password"], id="a password"),
        pytest.param("n=alice,r=f00", ["a message of SCRAM"], id="a message of SCRAM"),
        pytest.param("-----BEGIN PRIVATE KEY-----", ["a private key"], id="a private key"),
    ],
)
def test_secret_in_a_line_is_found_and_not_repeated(line: str, found: list[str]) -> None:
    sentences = [*leaks_in("node 1", f"first\n{line}\n")]

    assert sentences == [f"node 1 has {what} in line 2" for what in found]


def test_file_with_a_password_is_found_unless_it_exists_to_hold_it(tmp_path: Path) -> None:
    for name in ("logs", "secrets"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(f"password={password_of('alice')}")
    (tmp_path / "logs" / "other").write_text("no secret")

    assert [*passwords_in(tmp_path, but_in="secrets")] == [f"{tmp_path / 'logs' / 'file'} has a password"]
