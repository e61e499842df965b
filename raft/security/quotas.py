"""How much clients may use, from a TOML file: Kafka's client quotas.

    [[quota]]
    user = "spark"
    producer_byte_rate = 10485760       # bytes a second

    [[quota]]
    user = "<default>"                  # each other user, for itself
    request_percentage = 20             # of the time of a node
    consumer_byte_rate = 52428800

    [[quota]]
    user = "reports"
    client-id = "nightly"
    request_percentage = 50

A quota is for users, for client ids, or for the client ids of users; `<default>` stands for each one that has no quota
of its own. Of the quotas that fit a client the most specific one holds, in Kafka's order:

    user and client-id, user and default client-id, user,
    default user and client-id, both defaults, default user,
    client-id, default client-id

Source: KIP-13, KIP-55, KIP-124; Kafka's DefaultQuotaCallback.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from reprlib import repr as shortened
from typing import Any, TypeAlias

from raft.errors import ConfigError

DEFAULT = "<default>"

_USER, _CLIENT_ID, _QUOTA = "user", "client-id", "quota"


class QuotaKind(Enum):
    """What a quota limits, in Kafka's words."""

    PRODUCER_BYTE_RATE = "producer_byte_rate"
    """Bytes of Produce requests a second."""
    CONSUMER_BYTE_RATE = "consumer_byte_rate"
    """Bytes of Fetch responses a second."""
    REQUEST_PERCENTAGE = "request_percentage"
    """Processor time of a node's event loop, in percent."""


Entity: TypeAlias = tuple[str | None, str | None]
"""A user and a client id; None where a quota does not name one. All clients of one entity share its limit."""

_LEAST, _MOST = 0.001, (1 << 63) - 1
"""A limit."""

_EXPECTED = ", ".join((_USER, _CLIENT_ID, *(kind.value for kind in QuotaKind)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotas:
    """The limits of all clients.

    Fields:
        limits: by entity, in which `DEFAULT` may stand for a name.
    """

    limits: Mapping[Entity, Mapping[QuotaKind, float]] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Quotas:
        """Return the quotas in the text of a file.

        Raises:
            ConfigError: it has another form; names the quota and the key.
        """
        try:
            tables = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"the file is no TOML: {error}") from error
        listed = tables.pop(_QUOTA, [])
        if tables:
            raise ConfigError(f"the file has the key {next(iter(tables))}: expected tables [[quota]]")
        if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
            raise ConfigError(f"quota is {shortened(listed)}: expected tables [[quota]]")
        limits: dict[Entity, Mapping[QuotaKind, float]] = {}
        for number, table in enumerate(listed, 1):
            name = f"quota {number}"
            entity = _entity(name, table)
            if entity in limits:
                raise ConfigError(f"{name} is for {_in_words(entity)}, which has a quota before it: expected one")
            limits[entity] = _limits(name, table)
        return cls(limits=limits)

    def of(self, kind: QuotaKind, user: str, client_id: str) -> tuple[Entity, float] | None:
        """Return the limit of a client, and the entity with which it shares it; None for no limit.

        Args:
            kind: of the limit.
            user: the name in its principal.
            client_id: of its requests; "" for none.
        """
        for configured, shared in _candidates(user, client_id):
            limit = self.limits.get(configured, {}).get(kind)
            if limit is not None:
                return shared, limit
        return None


def _candidates(user: str, client_id: str) -> Iterator[tuple[Entity, Entity]]:
    """Yield the entities whose quotas fit, the most specific first, each with the entity that shares the limit."""
    for named_user in (user, DEFAULT):
        for named_client_id in (client_id, DEFAULT):
            yield (named_user, named_client_id), (user, client_id)
        yield (named_user, None), (user, None)
    for named_client_id in (client_id, DEFAULT):
        yield (None, named_client_id), (None, client_id)


def _entity(name: str, table: Mapping[str, Any]) -> Entity:
    user, client_id = (_text(f"{name}: {key}", table[key]) if key in table else None for key in (_USER, _CLIENT_ID))
    if user is None and client_id is None:
        raise ConfigError(f"{name} names no client: expected {_USER}, {_CLIENT_ID} or both")
    return user, client_id


def _text(key: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ConfigError(f'{key} is {shortened(value)}: expected a name, or "{DEFAULT}"')
    return value


def _limits(name: str, table: Mapping[str, Any]) -> Mapping[QuotaKind, float]:
    kinds = {kind.value: kind for kind in QuotaKind}
    limits = {}
    for key, value in table.items():
        if key in (_USER, _CLIENT_ID):
            continue
        if key not in kinds:
            raise ConfigError(f"{name} has the key {key}: expected {_EXPECTED}")
        if isinstance(value, bool) or not isinstance(value, int | float) or not _LEAST <= value <= _MOST:
            raise ConfigError(f"{name}: {key} is {shortened(value)}: expected a number from {_LEAST} to 2^63 - 1")
        limits[kinds[key]] = float(value)
    if not limits:
        raise ConfigError(f"{name} limits nothing: expected {', '.join(kinds)} or several of them")
    return limits


def _in_words(entity: Entity) -> str:
    return " and ".join(
        f"{key} {value}" for key, value in zip((_USER, _CLIENT_ID), entity, strict=True) if value is not None
    )
