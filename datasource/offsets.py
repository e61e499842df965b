"""The offsets that Spark keeps in a checkpoint; an on-disk format, so each carries its version.

    where to begin     {"version": 2, "start": "earliest" | "latest" | N}
    after a batch      {"version": 2, "clusterId": "...", "offset": N, "epoch": E, "checksum": C}
                       N is the next offset, E the epoch of record N-1 (0 when N is 0; in a cluster of Apache
                       Kafka's, the oldest snapshot's epoch if that is later), C the stored CRC-32C of the record batch
                       that holds record N-1. The key is left out when the checksum is unknown, and when N is 0
    and where that batch began, if that is not where the one before ended
                       {..., "from": {"offset": S, "epoch": F, "checksum": D}}

Version 1 is the same without checksums, and is still read.

Spark compares offsets as text, so the order of the keys is part of the format. The first form is constant: Spark asks
for it again and again, and what "latest" meant then must stay what it meant; the first end says it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from datasource.options import Bound, Place
from raft.client import LogPlace
from raft.errors import ConfigError
from raft.types import Epoch, Offset

VERSION = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """Where a new query is to begin; resolved when its first batch is planned."""

    start: Bound | None

    def to_json(self) -> dict[str, Any]:
        """The form in the checkpoint. A start by timestamp has no place there: the options have it."""
        start = self.start.value if isinstance(self.start, Place) else self.start
        return {"version": VERSION, "start": "timestamp" if start is None else start}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """Where a batch ended, and in which cluster's log; `origin` is where it began, if it has to be said."""

    cluster_id: str
    point: LogPlace
    origin: LogPlace | None = None

    def to_json(self) -> dict[str, Any]:
        """The form in the checkpoint."""
        text: dict[str, Any] = {
            "version": VERSION,
            "clusterId": self.cluster_id,
            **_place_to_json(self.point),
        }
        if self.origin is not None:
            text["from"] = _place_to_json(self.origin)
        return text


def _place_to_json(place: LogPlace) -> dict[str, int]:
    text: dict[str, int] = {"offset": place.offset, "epoch": place.epoch}
    if place.checksum is not None:
        text["checksum"] = place.checksum
    return text


def read_offset(text: Mapping[str, Any]) -> Beginning | Reached:
    """Read an offset from a checkpoint.

    Raises:
        ConfigError: it is of a later version, or no offset of ours; says so.
    """
    version = text.get("version")
    if isinstance(version, int) and version > VERSION:
        raise ConfigError(
            f"the checkpoint's offset has version {version}; this kraft-spark reads versions up to {VERSION}: upgrade "
            "kraft-spark"
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
        return None if start == "timestamp" else Place(start)
    return _whole(start)


def _place(text: Mapping[str, Any]) -> LogPlace:
    return LogPlace(
        offset=Offset(_whole(text["offset"])),
        epoch=Epoch(_whole(text["epoch"])),
        checksum=_whole(text["checksum"]) if "checksum" in text else None,
    )


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{value!r} is no whole number of 0 or more")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value
