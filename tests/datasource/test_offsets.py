"""Offsets in checkpoints: the exact text, since Spark compares it and later versions read it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from datasource.offsets import Beginning, Reached, read_offset
from datasource.option_values import NamedOffset
from raft.client import LogPosition
from raft.errors import ConfigError
from raft.types import Epoch, Offset
from tests.datasource.logs import CLUSTER_ID


def point(offset: int, epoch: int, checksum: int | None = None) -> LogPosition:
    return LogPosition(offset=Offset(offset), epoch=Epoch(epoch), checksum=checksum)


FORMS = [
    pytest.param(Beginning(start=NamedOffset.EARLIEST), '{"version": 2, "start": "earliest"}', id="earliest"),
    pytest.param(Beginning(start=NamedOffset.LATEST), '{"version": 2, "start": "latest"}', id="latest"),
    pytest.param(Beginning(start=7), '{"version": 2, "start": 7}', id="an offset"),
    pytest.param(Beginning(start=None), '{"version": 2, "start": "timestamp"}', id="a time"),
    pytest.param(
        Reached(cluster_id=CLUSTER_ID, point=point(0, 0)),
        f'{{"version": 2, "clusterId": "{CLUSTER_ID}", "offset": 0, "epoch": 0}}',
        id="the very start",
    ),
    pytest.param(
        Reached(cluster_id=CLUSTER_ID, point=point(12, 3, 0xFFFF_FFFF)),
        f'{{"version": 2, "clusterId": "{CLUSTER_ID}", "offset": 12, "epoch": 3, "checksum": 4294967295}}',
        id="with a checksum",
    ),
    pytest.param(
        Reached(cluster_id=CLUSTER_ID, point=point(12, 3, 7), origin=point(5, 2, 0)),
        f'{{"version": 2, "clusterId": "{CLUSTER_ID}", "offset": 12, "epoch": 3, "checksum": 7, '
        '"from": {"offset": 5, "epoch": 2, "checksum": 0}}',
        id="with where it began",
    ),
]


@pytest.mark.parametrize(("offset", "text"), FORMS)
def test_offset_has_exactly_this_text(offset: Beginning | Reached, text: str) -> None:
    assert json.dumps(offset.to_json()) == text


@pytest.mark.parametrize(("offset", "text"), FORMS)
def test_offset_is_read_from_its_text(offset: Beginning | Reached, text: str) -> None:
    assert read_offset(json.loads(text)) == offset


@pytest.mark.kafka_suite(9)
@pytest.mark.parametrize(
    ("version", "advice"),
    [(1, "start a new query with a new checkpoint"), (4, "upgrade kraft-spark")],
    ids=["earlier", "later"],
)
def test_offset_of_another_version_is_refused_with_both_versions(version: int, advice: str) -> None:
    with pytest.raises(ConfigError, match=f"offset has version {version}, expected 2 or 3: {advice}"):
        read_offset({"version": version, "start": "earliest", "more": True})


@pytest.mark.parametrize(
    "text",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"version": 2}, id="version alone"),
        pytest.param({"version": 2, "start": "middle"}, id="an invalid place"),
        pytest.param({"version": 2, "clusterId": CLUSTER_ID, "offset": 5}, id="without epoch"),
        pytest.param({"version": 2, "clusterId": CLUSTER_ID, "offset": "x", "epoch": 1}, id="offset that is no number"),
        pytest.param(
            {"version": 2, "clusterId": CLUSTER_ID, "offset": 5, "epoch": 1, "from": 3}, id="origin is a number"
        ),
        pytest.param({"version": 2, "clusterId": 7, "offset": 5, "epoch": 1}, id="cluster id is a number"),
        pytest.param({"version": 2, "clusterId": CLUSTER_ID, "offset": 1.9, "epoch": 1}, id="offset has a fraction"),
        pytest.param({"version": 2, "clusterId": CLUSTER_ID, "offset": float("inf"), "epoch": 1}, id="no end"),
        pytest.param({"version": 2, "clusterId": CLUSTER_ID, "offset": -5, "epoch": 1}, id="offset below 0"),
        pytest.param(
            {"version": 2, "clusterId": CLUSTER_ID, "offset": 5, "epoch": 1, "checksum": None}, id="checksum is null"
        ),
        pytest.param({"version": 2, "start": True}, id="start is true"),
        pytest.param({"topic": {"0": 23}}, id="of Kafka's source"),
    ],
)
def test_text_of_something_else_is_refused(text: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="is not an offset of the kraft source"):
        read_offset(text)
