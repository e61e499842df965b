"""Options: which values are accepted, in which spelling, and the error of each refusal; no network, no session."""

from __future__ import annotations

import time

import pytest

from datasource.client_options import SECURITY_NAMES
from datasource.option_names import check_names
from datasource.option_values import NamedOffset, View
from datasource.options import ReadOptions, WriteOptions
from raft.errors import ConfigError
from raft.types import Endpoint

SERVERS = {"kraft.bootstrap.servers": "localhost:9093"}


def test_options_have_defaults_when_only_the_servers_are_given() -> None:
    read = ReadOptions.of(SERVERS)

    assert read.client.bootstrap_servers == (Endpoint("localhost", 9093),)
    assert (read.client.cluster_id, read.client.api_timeout_ms, read.client.request_timeout_ms) == (None, 60_000, 5_000)
    assert (read.starting_offsets, read.ending_offsets, read.max_offsets_per_trigger) == (None, None, None)
    assert (read.fail_on_data_loss, read.include_headers, read.include_control_records) == (True, False, False)


@pytest.mark.kafka_suite(7)
def test_options_are_found_in_any_case_and_with_blanks_around() -> None:
    read = ReadOptions.of(
        {
            "KRAFT.bootstrap.SERVERS": " h1:1 , [::1]:2 ",
            "startingoffsets": " earLiEst ",
            "ENDINGOFFSETS": "12",
            "failondataloss": "FALSE",
            "IncludeHeaders": "True",
            "startingOffsetsByTimestampStrategy": "LATEST",
            "maxoffsetspertrigger": "7",
        }
    )

    assert read.client.bootstrap_servers == (Endpoint("h1", 1), Endpoint("::1", 2))
    assert (read.starting_offsets, read.ending_offsets) == (NamedOffset.EARLIEST, 12)
    assert (read.fail_on_data_loss, read.include_headers, read.latest_if_no_match) == (False, True, True)
    assert read.max_offsets_per_trigger == 7


@pytest.mark.parametrize("name", SECURITY_NAMES[1:])
@pytest.mark.rule("AUTH-1")
def test_option_of_security_that_has_no_effect_is_refused_without_its_value(name: str) -> None:
    with pytest.raises(ConfigError, match=f"^{name} has no effect with kraft.security.protocol=PLAINTEXT: ") as refused:
        ReadOptions.of(SERVERS | {name: "planted-secret"})

    assert "planted-secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        pytest.param("1500", 1.5, id="a number is milliseconds, as in Spark"),
        pytest.param("30s", 30, id="seconds"),
        pytest.param("15m", 900, id="minutes"),
        pytest.param("2 Hours", 7200, id="words"),
        pytest.param("1 day", 86_400, id="a day"),
    ],
)
def test_duration_has_a_unit(value: str, seconds: float) -> None:
    read = ReadOptions.of(SERVERS | {"minOffsetsPerTrigger": "1", "maxTriggerDelay": value})

    assert read.max_trigger_delay_ms == seconds * 1000


def test_start_may_be_relative_to_the_end_or_to_now() -> None:
    before_ms = int(time.time() * 1000)

    read = ReadOptions.of(SERVERS | {"startingOffsets": "-100", "startingTimestamp": "-10 minutes"})

    after_ms = int(time.time() * 1000)
    assert read.starting_offsets == -100
    assert read.starting_timestamp_ms is not None
    assert before_ms - 600_000 <= read.starting_timestamp_ms <= after_ms - 600_000
    assert read.latest_if_no_match, "no record may be so new"


def test_relative_start_without_a_match_is_an_error_if_the_user_says_so() -> None:
    given = {"startingTimestamp": "-1 min", "startingOffsetsByTimestampStrategy": "error"}

    assert not ReadOptions.of(SERVERS | given).latest_if_no_match


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param(
            {"startingOffset": "1"}, "unknown option startingOffset: did you mean startingOffsets?", id="near"
        ),
        pytest.param({"kraft.bootstrap.server": "h:1"}, "did you mean kraft.bootstrap.servers?", id="near ours"),
        pytest.param({"bootstrapServers": "h:1"}, "did you mean kraft.bootstrap.servers?", id="near without prefix"),
        pytest.param({"maxOffsets": "1"}, "did you mean maxOffsetsPerTrigger?", id="beginning"),
        pytest.param(
            {"zzz": "1"}, "expected one of endingOffsets, endingTimestamp, failOnDataLoss, ", id="nothing near"
        ),
        pytest.param({"kraft.zzz": "1"}, "expected one of endingOffsets, ", id="nothing near but the prefix"),
    ],
)
def test_unknown_name_is_refused_with_what_there_is(given: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        check_names(SERVERS | given)

    assert message in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("subscribe", "a quorum has one topic with one partition"),
        ("kafka.bootstrap.servers", "options of this source's client have the prefix kraft."),
        ("bootstrap.servers", "options of this source's client have the prefix kraft."),
        ("kafka.max.unheard.of", "options of this source's client have the prefix kraft."),
        ("kraft.auto.offset.reset", "startingOffsets is the start of a new query"),
        ("kafka.group.id", "there are no consumer groups"),
        ("KRAFT.Group.ID", "there are no consumer groups"),
        ("kraft.enable.auto.commit", "there are no consumer groups"),
        ("value.deserializer", "keys and values are bytes"),
        ("kraft.isolation.level", "only committed records are read"),
        ("acks", "always acknowledged by a majority"),
        ("security.protocol", "TLS with PEM files, and SASL with PLAIN or SCRAM, are supported"),
        ("kraft.ssl.keystore.password", "TLS with PEM files, and SASL with PLAIN or SCRAM, are supported"),
        ("startingoffsetsbytimestamp", "use startingTimestamp and endingTimestamp"),
        ("client.rack", "set kraft.client.rack, with kraft.read.from=nearest"),
    ],
)
def test_option_of_kafka_is_refused_with_its_replacement(name: str, reason: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        check_names(SERVERS | {name: "x"})

    assert f"option {name} of Kafka does not exist here: " in str(refusal.value)
    assert reason in str(refusal.value)


def test_names_that_spark_adds_are_let_through() -> None:
    check_names(
        SERVERS | dict.fromkeys(("checkpointLocation", "QUERYNAME", "owner", "provider", "option.startingOffsets"), "x")
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"kraft.bootstrap.servers": ""}, "option kraft.bootstrap.servers is missing: expected host:port,..."),
        ({"kraft.bootstrap.servers": "h"}, "kraft.bootstrap.servers=h: expected host:port with a port of 1 to 65535"),
        ({"kraft.bootstrap.servers": "h:70000"}, "kraft.bootstrap.servers=h:70000: expected host:port"),
        ({"kraft.cluster.id": " "}, "kraft.cluster.id=: expected a text that is not empty"),
        (
            {"kraft.default.api.timeout.ms": "0"},
            "kraft.default.api.timeout.ms=0: expected a whole number of 1 or more",
        ),
        ({"kraft.request.timeout.ms": "1.5"}, "kraft.request.timeout.ms=1.5: expected a whole number of 1 or more"),
        ({"startingOffsets": "abc"}, "startingOffsets=abc: expected earliest, latest or an offset, or -n for n rows"),
        ({"startingOffsets": "-0"}, "startingOffsets=-0: expected earliest, latest or an offset, or -n for n rows"),
        ({"endingOffsets": "-1"}, "endingOffsets=-1: expected latest or an offset of 0 or more"),
        ({"endingOffsets": "earliest"}, "endingOffsets=earliest: expected latest or an offset of 0 or more"),
        ({"startingTimestamp": "yesterday"}, "startingTimestamp=yesterday: expected milliseconds since 1970, or"),
        (
            {"startingTimestamp": "-600000"},
            "startingTimestamp=-600000: expected milliseconds since 1970, or a duration",
        ),
        ({"startingTimestamp": "-10 parsecs"}, "startingTimestamp=-10 parsecs: expected milliseconds since 1970, or"),
        ({"minOffsetsPerTrigger": "6", "maxOffsetsPerTrigger": "5"}, "minOffsetsPerTrigger=6 is above maxOffsetsPer"),
        ({"maxTriggerDelay": "5m"}, "maxTriggerDelay is only used with minOffsetsPerTrigger"),
        ({"minOffsetsPerTrigger": "6", "maxTriggerDelay": "soon"}, "maxTriggerDelay=soon: expected a duration such as"),
        ({"kraft.read.from": "moon"}, "kraft.read.from=moon: expected leader, any, nearest"),
        ({"kraft.read.from": "nearest"}, "expected both kraft.read.from=nearest and kraft.client.rack"),
        ({"kraft.client.rack": "a"}, "expected both kraft.read.from=nearest and kraft.client.rack"),
        ({"endingTimestamp": str(1 << 63)}, f"endingTimestamp={1 << 63}: expected 0 to {(1 << 63) - 1}"),
        ({"TXNAPPID": "app"}, "option txnAppId is for writes"),
        ({"startingOffsetsByTimestampStrategy": "skip"}, "startingOffsetsByTimestampStrategy=skip: expected error"),
        ({"maxOffsetsPerTrigger": "0"}, "maxOffsetsPerTrigger=0: expected a whole number of 1 or more"),
        ({"minPartitions": "-2"}, "minPartitions=-2: expected a whole number of 1 or more"),
        ({"maxRecordsPerPartition": "many"}, "maxRecordsPerPartition=many: expected a whole number of 1 or more"),
        ({"failOnDataLoss": "yes"}, "failOnDataLoss=yes: expected true or false"),
        ({"includeHeaders": ""}, "includeHeaders=: expected true or false"),
        ({"view": "newest"}, "view=newest: expected log or latest"),
        (
            {"startingOffsets": "5", "endingOffsets": "3"},
            "startingOffsets=5 is after endingOffsets=3: expected a start up to the end",
        ),
        ({"startingTimestamp": "5", "endingTimestamp": "3"}, "startingTimestamp=5 is after endingTimestamp=3"),
    ],
)
def test_read_is_refused_with_option_value_and_what_is_expected(given: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        ReadOptions.of(SERVERS | given)

    assert str(refusal.value).startswith(message)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"txnAppId": "app"}, "expected both txnAppId and txnVersion"),
        ({"txnVersion": "1"}, "expected both txnAppId and txnVersion"),
        ({"txnAppId": "", "txnVersion": "1"}, "txnAppId=: expected a text that is not empty"),
        ({"txnAppId": "app", "txnVersion": "-1"}, "txnVersion=-1: expected a whole number of 0 or more"),
        ({"txnAppId": "app", "txnVersion": str(1 << 46)}, "txnVersion: write version 70368744177664: expected 0 to"),
        ({"failOnWriteConflict": "maybe"}, "failOnWriteConflict=maybe: expected true or false"),
        ({"readColumns": "keep"}, "readColumns=keep: expected refuse, drop, keepTimestamps"),
        ({"startingoffsets": "abc"}, "option startingOffsets is for reads"),
        ({"kraft.max.request.size": "0"}, "kraft.max.request.size=0: expected 1 to 267386880"),
        ({"kraft.max.request.size": "267386881"}, "kraft.max.request.size=267386881: expected 1 to 267386880"),
    ],
)
def test_write_is_refused_with_option_value_and_what_is_expected(given: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        WriteOptions.of(SERVERS | given)

    assert str(refusal.value).startswith(message)


def test_key_of_a_write_is_the_one_that_the_user_gives() -> None:
    write = WriteOptions.of(SERVERS | {"txnappid": "app", "TXNVERSION": str((1 << 46) - 1)})

    assert write.key is not None
    assert (write.key.writer_id, write.key.version) == ("app", (1 << 46) - 1)


def test_batch_may_not_start_at_the_end() -> None:
    with pytest.raises(ConfigError, match=r"startingOffsets=latest is for streams only"):
        ReadOptions.of(SERVERS | {"startingOffsets": "latest"}).check_for_batch()


def test_batch_has_no_triggers() -> None:
    with pytest.raises(ConfigError, match="maxOffsetsPerTrigger is for streams only: a batch read has no triggers"):
        ReadOptions.of(SERVERS | {"maxOffsetsPerTrigger": "5"}).check_for_batch()


def test_offsets_do_not_matter_beside_times() -> None:
    read = ReadOptions.of(SERVERS | {"startingTimestamp": "0", "startingOffsets": "latest"})
    read.check_for_batch()

    ReadOptions.of(SERVERS | {"startingTimestamp": "0", "startingOffsets": "4", "endingOffsets": "2"})


@pytest.mark.parametrize("name", ["endingOffsets", "endingTimestamp"])
def test_stream_may_not_have_an_end(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} is for batch reads only: a stream has no end"):
        ReadOptions.of(SERVERS | {name: "5"}).check_for_stream()


def test_stream_may_not_have_a_key_of_the_users() -> None:
    with pytest.raises(
        ConfigError, match="txnAppId is for batch writes and foreachBatch only: a stream's key is the query's id"
    ):
        WriteOptions.of(SERVERS | {"txnAppId": "app", "txnVersion": "1"}).check_for_stream()


@pytest.mark.parametrize("name", ["path", "PATHS", "location", "external"])
def test_path_is_refused_because_a_log_has_none(name: str) -> None:
    with pytest.raises(
        ConfigError, match=f"option {name}: a log has no path, because kraft.bootstrap.servers says where"
    ):
        check_names(SERVERS | {name: "/x"})


@pytest.mark.parametrize("value", ["drop", "KEEPTIMESTAMPS", " refuse "])
def test_fate_of_the_columns_of_a_read_is_found_in_any_case(value: str) -> None:
    assert WriteOptions.of(SERVERS | {"readColumns": value}).read_columns.value.lower() == value.strip().lower()


VIEW = SERVERS | {"view": "Latest"}


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"startingOffsets": "earliest", "minPartitions": "4", "includeHeaders": "true"},
        {"endingOffsets": "7"},
        {"endingTimestamp": "-1 hour"},
    ],
)
def test_view_has_an_end_and_no_start(given: dict[str, str]) -> None:
    read = ReadOptions.of(VIEW | given)
    read.check_for_batch()

    assert read.view is View.LATEST
    assert ReadOptions.of(SERVERS | given).view is View.LOG


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"startingOffsets": "5"}, "view=latest reads the whole log: remove startingOffsets and startingTimestamp"),
        ({"startingOffsets": "-5"}, "view=latest reads the whole log: remove startingOffsets and startingTimestamp"),
        ({"startingTimestamp": "5"}, "view=latest reads the whole log: remove startingOffsets and startingTimestamp"),
        ({"maxRecordsPerPartition": "5"}, "maxRecordsPerPartition splits a read by offsets, view=latest by keys"),
        ({"includeControlRecords": "true"}, "view=latest has no control records: remove includeControlRecords"),
    ],
)
def test_view_is_refused_with_an_option_that_has_no_meaning_for_it(given: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ReadOptions.of(VIEW | given).check_for_batch()


def test_stream_may_not_have_a_view() -> None:
    with pytest.raises(ConfigError, match="view=latest is for batch reads only: a stream has each record as it comes"):
        ReadOptions.of(VIEW).check_for_stream()
    ReadOptions.of(SERVERS | {"view": "log"}).check_for_stream()
