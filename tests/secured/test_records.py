"""Each of Kafka's clients writes and reads records in each way to connect."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from raft.records.record import Record
from tests.processes.kraft import kraft_json
from tests.secured.judges import Judge
from tests.secured.secured_quorum import SecuredQuorum
from tests.secured.ways import MUTUAL, WAYS, Way

pytestmark = pytest.mark.java

_COUNT = 50


@pytest.mark.rule("AUTH-1", "AUTH-3", "AUTH-5", "ACL-2")
@pytest.mark.parametrize("judge", ["Java", "librdkafka", "aiokafka"])
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_client_reads_what_it_wrote(
    quorum: SecuredQuorum, judges: dict[str, Judge], judge: str, way: Way, tmp_path: Path
) -> None:
    access, start_offset = quorum.access(way), quorum.end_offset()
    records = records_of(judge)

    judges[judge].produce(access, records)

    read = judges[judge].consume(access, start_offset, _COUNT)
    assert contents(read) == contents(records)
    command_config = access.write(tmp_path / "kraft.properties")
    servers = ("--bootstrap-server", access.bootstrap_servers, "--command-config", str(command_config))
    ours = kraft_json("read", *servers, "--from", str(start_offset))
    assert ours == [
        {"offset": int(record.offset), "epoch": ours[0]["epoch"], "timestamp": record.timestamp_ms}
        | {"key": key, "value": value}
        for record, (key, value) in zip(read, contents(read), strict=True)
    ]


@pytest.mark.rule("AUTH-2")
@pytest.mark.parametrize("judge", ["Java", "aiokafka"])
@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_client_that_accepts_one_version_of_tls_reads_what_it_wrote(
    quorum: SecuredQuorum, judges: dict[str, Judge], judge: str, version: str
) -> None:
    access, start_offset = replace(quorum.access(MUTUAL), tls_version=version), quorum.end_offset()
    records = records_of(f"{judge} {version}")

    judges[judge].produce(access, records)

    assert contents(judges[judge].consume(access, start_offset, _COUNT)) == contents(records)


def records_of(name: str) -> list[Record]:
    return [Record(key=b"key %d" % at, value=f"{name} {at}".encode(), timestamp_ms=0) for at in range(_COUNT)]


def contents(records: list[Record]) -> list[tuple[str, str]]:
    return [((record.key or b"").decode(), (record.value or b"").decode()) for record in records]
