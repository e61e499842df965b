"""The file with the client quotas of a node: read at the start, and again when it has changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from raft.errors import ConfigError
from raft.security.quotas import QuotaKind
from raft.security.quotas_file import QuotasFile

KEY = "raft.quotas.file"
STAY = "the quotas that were read before stay in use"
TABLE = '[[quota]]\nuser = "u"\nrequest_percentage = {}\n'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with one quota."""
    path = tmp_path / "quotas.toml"
    path.write_text(TABLE.format(5))
    return path


def limit(file: QuotasFile) -> float | None:
    found = file.quotas.of(QuotaKind.REQUEST_PERCENTAGE, "u", "")
    return None if found is None else found[1]


@pytest.mark.rule("QUOTA-5")
def test_quotas_are_read_again_when_the_file_has_changed(path: Path) -> None:
    file = QuotasFile(KEY, path)
    reports: list[str] = []

    before = limit(file)
    path.write_text(TABLE.format("17.5"))
    file.renew(reports.append)

    assert (before, limit(file), reports) == (5, 17.5, [])


@pytest.mark.rule("QUOTA-5")
def test_quotas_stay_in_use_while_the_file_cannot_be_used(path: Path) -> None:
    file = QuotasFile(KEY, path)
    reports: list[str] = []

    path.write_text(TABLE.format('"much"'))
    file.renew(reports.append)
    path.unlink()
    file.renew(reports.append)

    assert limit(file) == 5
    assert file.renewal.is_outdated
    assert reports == [
        f"{KEY}={path}: quota 1: request_percentage is 'much': expected a number from 0.001 to 2^63 - 1; {STAY}",
        f"{KEY}={path}: No such file or directory; {STAY}",
    ]


def test_node_does_not_start_with_a_file_that_is_no_text(path: Path) -> None:
    path.write_bytes(b"\xff\xfe")

    with pytest.raises(ConfigError, match=f"{KEY}={path}: the file is no text"):
        QuotasFile(KEY, path)


def test_example_can_be_used() -> None:
    quotas = QuotasFile(KEY, Path("conf/quotas.toml")).quotas

    assert quotas.of(QuotaKind.REQUEST_PERCENTAGE, "anyone", "") == (("anyone", None), 20)
    assert quotas.of(QuotaKind.PRODUCER_BYTE_RATE, "spark", "") == (("spark", None), 50 << 20)
