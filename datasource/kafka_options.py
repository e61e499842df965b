"""Options of Kafka's clients and of Spark's Kafka source that do not exist here, each with the reason.

Users of Kafka try them first. The reason helps them more than the name of a similar option would.
"""

from __future__ import annotations

from collections.abc import Mapping

_PREFIXES = ("kraft.", "kafka.")

_ONE_LOG = "a quorum has one topic with one partition, so there is nothing to choose"
_NO_GROUPS = "there are no consumer groups: the query's checkpoint holds its position"
_BYTES = "keys and values are bytes: use cast, or from_msgpack and to_msgpack of kraft_spark"
_ONE_TIMESTAMP = "a quorum has one partition: use startingTimestamp and endingTimestamp"
_RETRIES = "requests are repeated for as long as kraft.default.api.timeout.ms allows"
_ONE_BATCH = "the sink decides how it sends; kraft.max.request.size limits a request"
_OTHER_SECURITY = (
    "TLS with PEM files, and SASL with PLAIN or SCRAM, are supported; docs/security.md has their options, which have "
    "the prefix kraft."
)
_NO_INTERCEPTORS = "records are not passed to interceptors: transform the DataFrame instead"
_FETCHES = "the source decides how it fetches; maxOffsetsPerTrigger limits a micro-batch"

_REASONS: Mapping[str, str] = {
    **dict.fromkeys(("subscribe", "subscribePattern", "assign", "topic"), _ONE_LOG),
    **dict.fromkeys(("group.id", "groupIdPrefix", "enable.auto.commit", "auto.commit.interval.ms"), _NO_GROUPS),
    **dict.fromkeys(("key.deserializer", "value.deserializer", "key.serializer", "value.serializer"), _BYTES),
    **dict.fromkeys(("startingOffsetsByTimestamp", "endingOffsetsByTimestamp"), _ONE_TIMESTAMP),
    **dict.fromkeys(("retries", "retry.backoff.ms", "delivery.timeout.ms", "fetchOffset.numRetries"), _RETRIES),
    **dict.fromkeys(("fetchOffset.retryIntervalMs", "kafkaConsumer.pollTimeoutMs"), _RETRIES),
    **dict.fromkeys(("batch.size", "linger.ms", "compression.type", "buffer.memory"), _ONE_BATCH),
    **dict.fromkeys(("fetch.min.bytes", "fetch.max.bytes", "fetch.max.wait.ms", "max.poll.records"), _FETCHES),
    **dict.fromkeys(("max.partition.fetch.bytes", "max.poll.interval.ms", "session.timeout.ms"), _FETCHES),
    "auto.offset.reset": "startingOffsets is the start of a new query, and failOnDataLoss decides about a query whose "
    "records are lost",
    "isolation.level": "only committed records are read, and no records of transactions that are open or aborted",
    "acks": "a write is always acknowledged by a majority of the voters",
    "enable.idempotence": "every write is idempotent",
    "transactional.id": "every write is exactly once; txnAppId and txnVersion name a batch write",
    "partitioner.class": _ONE_LOG,
    "interceptor.classes": _NO_INTERCEPTORS,
    "client.rack": "set kraft.client.rack, with kraft.read.from=nearest",
    "security.protocol": _OTHER_SECURITY,
}
_BY_LOWERED_NAME = {name.lower(): reason for name, reason in _REASONS.items()}
_SECURITY_PREFIXES = ("ssl.", "sasl.")


def why_not(option: str) -> str | None:
    """Return why an option of Kafka does not exist here; None for a name that is not an option of Kafka.

    Args:
        option: its name as the user wrote it, with or without the prefix `kafka.` or `kraft.`.
    """
    name = option.lower()
    prefix = next((prefix for prefix in _PREFIXES if name.startswith(prefix)), "")
    name = name.removeprefix(prefix)
    if name in _BY_LOWERED_NAME:
        return _BY_LOWERED_NAME[name]
    if name.startswith(_SECURITY_PREFIXES):
        return _OTHER_SECURITY
    if prefix == "kafka." or name == "bootstrap.servers":
        return "options of this source's client have the prefix kraft., such as kraft.bootstrap.servers"
    return None
