"""Causes of the messages about files and variables that a process does not have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from datasource.batch_reader import KraftBatchReader
from datasource.options import ReadOptions
from datasource.source import KraftDataSource
from raft.config.security import login_module
from tests.troubleshooting.messages import SERVERS, message_of

_SASL = {"kraft.security.protocol": "SASL_SSL", "kraft.sasl.mechanism": "SCRAM-SHA-512"}
_JAAS = f'{login_module("SCRAM-SHA-512")} required username="spark" password="${{env:NO_SUCH_VARIABLE}}";'


def _refused(**options: str) -> str:
    return message_of(KraftBatchReader(ReadOptions.of(SERVERS | options)).partitions)


def missing_file(_patch: pytest.MonkeyPatch, _folder: Path) -> str:
    return _refused(**{"kraft.security.protocol": "SSL", "kraft.ssl.truststore.location": "no-such.pem"})


def missing_variable(_patch: pytest.MonkeyPatch, _folder: Path) -> str:
    return _refused(**_SASL, **{"kraft.sasl.jaas.config": _JAAS})


def reference_not_allowed(patch: pytest.MonkeyPatch, _folder: Path) -> str:
    patch.delenv("KRAFT_CONFIG_PROVIDERS", raising=False)
    source = KraftDataSource({**SERVERS, **_SASL, "kraft.sasl.jaas.config": _JAAS})
    return message_of(source.schema)


MISSING: dict[str, Callable[[pytest.MonkeyPatch, Path], str]] = {
    "ssl.truststore.location=...: no such file on host ...": missing_file,
    "option ...: ${...} is not allowed here: ...": reference_not_allowed,
    "${env:...}: the environment has no variable ...": missing_variable,
}
"""By the headings of the document."""
