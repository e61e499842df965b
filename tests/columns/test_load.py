"""The choice of the kernel: which one is used, which choice is refused, and the warnings."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from datasource.columns import compiled, encoded_size
from datasource.columns.compiled import LIBRARY
from datasource.columns.load import VARIABLE, choose_kernel, load_kernel
from datasource.columns.structures import KERNEL_VERSION
from raft.errors import ConfigError


@pytest.fixture
def fresh_choice() -> Iterator[None]:
    """Let the process choose again, now and after the test."""
    load_kernel.cache_clear()
    yield
    load_kernel.cache_clear()


def test_process_takes_the_compiled_kernel_without_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    assert choose_kernel("", library=LIBRARY).name == "compiled"
    assert choose_kernel("compiled", library=LIBRARY).name == "compiled"
    assert not caplog.records


@pytest.mark.usefixtures("fresh_choice")
def test_process_warns_once_when_the_fallback_is_forced(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(VARIABLE, "python")
    record_batch = pa.record_batch({"value": pa.array([b"a"])})

    sizes = [encoded_size(record_batch), encoded_size(record_batch)]

    assert sizes == [61 + 8, 61 + 8]
    (warning,) = caplog.records
    assert warning.levelno == logging.WARNING
    assert warning.getMessage().endswith("large batches slow: KRAFT_COLUMNS_KERNEL=python")


@pytest.mark.parametrize("content", [None, b"", b"\x7fELF, but cut short"], ids=["missing", "empty", "broken"])
def test_process_falls_back_with_a_warning_when_the_library_cannot_be_loaded(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: bytes | None
) -> None:
    library = tmp_path / "libkernel.so"
    if content is not None:
        library.write_bytes(content)

    assert choose_kernel("", library=library).name == "python"
    (warning,) = caplog.records
    assert str(library) in warning.getMessage()


def test_process_falls_back_when_the_library_is_of_another_version(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(compiled, "KERNEL_VERSION", KERNEL_VERSION + 1)

    assert choose_kernel("", library=LIBRARY).name == "python"
    (warning,) = caplog.records
    assert f"has version {KERNEL_VERSION}, expected {KERNEL_VERSION + 1}" in warning.getMessage()


def test_process_refuses_to_start_when_the_compiled_kernel_is_demanded_and_missing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"{VARIABLE}=compiled: .*nowhere.so"):
        choose_kernel("compiled", library=tmp_path / "nowhere.so")


def test_process_refuses_a_kernel_that_does_not_exist() -> None:
    with pytest.raises(ConfigError, match=f"{VARIABLE}=fortran: expected compiled or python"):
        choose_kernel("fortran", library=LIBRARY)


def test_structures_have_the_version_of_the_source() -> None:
    source = LIBRARY.with_name("kernel.c").read_text()

    assert re.findall(r"#define KERNEL_VERSION (\d+)", source) == [str(KERNEL_VERSION)]
