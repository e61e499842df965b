"""The offsets that Spark stores in a checkpoint. They are an on-disk format, so each has a version.

    start of a query   {"version": 2, "start": "earliest" | "latest" | "timestamp" | N}
                       {"version": 3, "start": -N}, N rows before the end of the log
    after a batch      {"version": 2, "clusterId": "...", "offset": N, "epoch": E, "checksum": C}
                       N is the next offset, E the epoch of record N-1 (0 if N is 0; in a cluster of Apache Kafka,
                       the epoch of the oldest snapshot if that is later), C the stored CRC-32C of the record batch
                       with record N-1. The checksum is left out if it is unknown, and if N is 0
    with the start of the batch, if that is not the end of the one before
                       {..., "from": {"offset": S, "epoch": F, "checksum": D}}

Spark compares offsets as text, so the order of the keys is part of the format. The first form is constant, because
Spark requests it several times; the offset of the first batch has the place that "latest" was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from datasource.option_values import Bound, NamedOffset
from raft.client import LogPosition
from raft.errors import ConfigError
from raft.types import Epoch, Offset

VERSION = 2
_FROM_END_VERSION = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """The start of a new query, which is resolved when its first batch is planned."""

    start: Bound | None

    def to_json(self) -> dict[str, Any]:
        """Return the form in the checkpoint. It does not have the timestamp of a start by timestamp; the options do."""
        start = self.start.value if isinstance(self.start, NamedOffset) else self.start
        is_from_end = isinstance(start, int) and start < 0
        return {
            "version": _FROM_END_VERSION if is_from_end else VERSION,
            "start": "timestamp" if start is None else start,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """The end of a batch, and the cluster of its log; `origin` is its start if that is not the previous end."""

    cluster_id: str
    point: LogPosition
    origin: LogPosition | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the form in the checkpoint."""
        text: dict[str, Any] = {
            "version": VERSION,
            "clusterId": self.cluster_id,
            **_place_to_json(self.point),
        }
        if self.origin is not None:
            text["from"] = _place_to_json(self.origin)
        return text


def log_end(cluster_id: str, offset: Offset, epoch: Epoch) -> dict[str, Any]:
    """Return where a log ends, for the progress of a query; `epoch` is that of the leader. It is never stored."""
    return {"version": VERSION, "clusterId": cluster_id, "offset": offset, "epoch": epoch}


def _place_to_json(place: LogPosition) -> dict[str, int]:
    text: dict[str, int] = {"offset": place.offset, "epoch": place.epoch}
    if place.checksum is not None:
        text["checksum"] = place.checksum
    return text


def read_offset(text: Mapping[str, Any]) -> Beginning | Reached:
    """Read an offset from a checkpoint.

    Raises:
        ConfigError: it has another version, or is not an offset of this source.
    """
    version = text.get("version")
    if isinstance(version, int) and not VERSION <= version <= _FROM_END_VERSION:
        advice = "upgrade kraft-spark" if version > VERSION else "start a new query with a new checkpoint"
        raise ConfigError(
            f"the checkpoint's offset has version {version}, expected {VERSION} or {_FROM_END_VERSION}: {advice}"
        )
    try:
        if "start" in text:
            return Beginning(start=_start(text["start"]))
        origin = text.get("from")
        return Reached(
            cluster_id=_text(text["clusterId"]),
            point=_place(text),
            origin=_place(origin) if origin is not None else None,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"the checkpoint's offset {dict(text)} is not an offset of the kraft source") from error


def _start(start: object) -> Bound | None:
    if isinstance(start, str):
        return None if start == "timestamp" else NamedOffset(start)
    if isinstance(start, int) and start < 0:
        return start
    return _whole(start)


def _place(text: Mapping[str, Any]) -> LogPosition:
    return LogPosition(
        offset=Offset(_whole(text["offset"])),
        epoch=Epoch(_whole(text["epoch"])),
        checksum=_whole(text["checksum"]) if "checksum" in text else None,
    )


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{value!r} is not a whole number of 0 or more")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value
