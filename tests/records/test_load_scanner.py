"""The choice of the scanner: which one is used, which choice is refused, and the warnings."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from raft.errors import ConfigError
from raft.records import compiled_scanner
from raft.records.batch import build_batch
from raft.records.compiled_scanner import LIBRARY, SCANNER_VERSION
from raft.records.header import read_header
from raft.records.load_scanner import VARIABLE, choose_scanner, load_scanner
from tests.records.samples import RICH

KEYED = build_batch(RICH, producer_id=2**62 + 5, producer_epoch=3, base_sequence=9)


@pytest.fixture
def fresh_choice() -> Iterator[None]:
    """Let the process choose again, now and after the test."""
    load_scanner.cache_clear()
    yield
    load_scanner.cache_clear()


def test_process_takes_the_compiled_scanner_without_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    assert choose_scanner("", library=LIBRARY).name == "compiled"
    assert choose_scanner("compiled", library=LIBRARY).name == "compiled"
    assert not caplog.records


@pytest.mark.usefixtures("fresh_choice")
def test_process_warns_once_when_the_fallback_is_forced(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    expected = read_header(KEYED)
    load_scanner.cache_clear()
    monkeypatch.setenv(VARIABLE, "python")

    assert [read_header(KEYED), read_header(KEYED)] == [expected, expected]

    (warning,) = caplog.records
    assert warning.levelno == logging.WARNING
    assert warning.getMessage().endswith("slow: KRAFT_RECORDS_SCANNER=python")


@pytest.mark.parametrize("content", [None, b"", b"\x7fELF, but cut short"], ids=["missing", "empty", "broken"])
def test_process_falls_back_with_a_warning_when_the_library_cannot_be_loaded(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: bytes | None
) -> None:
    library = tmp_path / "libscanner.so"
    if content is not None:
        library.write_bytes(content)

    assert choose_scanner("", library=library).name == "python"
    (warning,) = caplog.records
    assert str(library) in warning.getMessage()


def test_process_falls_back_when_the_library_is_of_another_version(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(compiled_scanner, "SCANNER_VERSION", SCANNER_VERSION + 1)

    assert choose_scanner("", library=LIBRARY).name == "python"
    (warning,) = caplog.records
    assert f"has version {SCANNER_VERSION}, expected {SCANNER_VERSION + 1}" in warning.getMessage()


def test_process_refuses_to_start_when_the_library_is_demanded_and_missing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"KRAFT_RECORDS_SCANNER=compiled: .*nowhere\.so"):
        choose_scanner("compiled", library=tmp_path / "nowhere.so")


def test_process_refuses_a_scanner_that_does_not_exist() -> None:
    with pytest.raises(ConfigError, match="KRAFT_RECORDS_SCANNER=fortran: expected compiled or python"):
        choose_scanner("fortran", library=LIBRARY)


def test_structures_have_the_version_of_the_source() -> None:
    source = LIBRARY.with_name("scanner.c").read_text()

    assert re.findall(r"#define SCANNER_VERSION (\d+)", source) == [str(SCANNER_VERSION)]
