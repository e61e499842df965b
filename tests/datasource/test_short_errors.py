"""What remains of an error of this project when it reaches Spark's worker."""

from __future__ import annotations

import io
import os
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.util import handle_worker_exception

from datasource.short_errors import KEEP_TRACEBACKS, short_errors
from datasource.spark_internals.process import HIDE_TRACEBACK
from raft.config.values import at_least
from raft.errors import ConfigError, RaftError


def fail_as_configured() -> None:
    at_least(1)("minPartitions", "x")


def fail_with_a_cause() -> None:
    raise RaftError("outer") from OSError("inner")


def fail_in_a_value() -> None:
    fail_with_a_cause.missing  # type: ignore[attr-defined]  # noqa: B018 - a bug


@short_errors("call", "generate")
class Called:
    """An object that Spark calls."""

    def call(self, fail: Callable[[], None]) -> str:
        fail()
        return "done"

    def generate(self, fail: Callable[[], None]) -> Iterator[int]:
        yield 1
        fail()


def shown(fail: Callable[[], Any]) -> str:
    """What Spark's worker reports of the error."""
    out = io.BytesIO()
    try:
        fail()
    except Exception as error:
        handle_worker_exception(error, out)
    return out.getvalue()[8:].decode()


@pytest.fixture
def in_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_PYTHON_RUNTIME", "PYTHON_WORKER")
    monkeypatch.setenv(HIDE_TRACEBACK, "")


@pytest.mark.usefixtures("in_worker")
@pytest.mark.parametrize(
    "use",
    [
        pytest.param(lambda: Called().call(fail_as_configured), id="method"),
        pytest.param(lambda: list(Called().generate(fail_as_configured)), id="generator"),
    ],
)
def test_worker_shows_the_message_alone(use: Callable[[], Any]) -> None:
    assert shown(use) == "raft.errors.ConfigError: minPartitions=x: expected a whole number of 1 or more\n"


@pytest.mark.usefixtures("in_worker")
def test_cause_is_left_out() -> None:
    assert shown(lambda: Called().call(fail_with_a_cause)) == "raft.errors.RaftError: outer\n"


@pytest.mark.usefixtures("in_worker")
@pytest.mark.parametrize(
    "use",
    [
        pytest.param(lambda: Called().call(fail_in_a_value), id="method"),
        pytest.param(lambda: list(Called().generate(fail_in_a_value)), id="generator"),
        pytest.param(lambda: Called().call(lambda: print(int("x"))), id="ValueError of another module"),
    ],
)
def test_bug_keeps_its_traceback(use: Callable[[], Any]) -> None:
    assert shown(use).startswith("Traceback (most recent call last):\n")


@pytest.mark.usefixtures("in_worker")
@pytest.mark.parametrize(
    "use",
    [lambda: Called().call(fail_as_configured), lambda: list(Called().generate(fail_as_configured))],
    ids=["method", "generator"],
)
def test_variable_keeps_all_tracebacks(use: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEEP_TRACEBACKS, "1")

    assert "in fail_as_configured" in shown(use)


def test_other_processes_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(HIDE_TRACEBACK, raising=False)

    with pytest.raises(ConfigError) as refusal:
        Called().call(fail_as_configured)

    assert HIDE_TRACEBACK not in os.environ
    frames = [frame.name for frame in traceback.extract_tb(refusal.value.__traceback__)]
    assert "fail_as_configured" not in frames


def test_traceback_is_in_the_log_at_level_debug(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "datasource.short_errors")

    with pytest.raises(ConfigError):
        Called().call(fail_as_configured)

    assert "in fail_as_configured" in caplog.text


def test_results_pass_unchanged() -> None:
    assert Called().call(lambda: None) == "done"
    assert list(Called().generate(lambda: None)) == [1]
