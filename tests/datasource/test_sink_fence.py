"""Which cluster a query writes to, by its checkpoint."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from datasource import sink_fence
from datasource.checkpoint_folder import ArrowFolder, LocalFolder, open_folder
from datasource.sink_fence import FILE, check_cluster, checkpoint_location
from raft.errors import ConfigError

QUERY_ID = "d6c15708-153a-4f7d-8f9c-0ac799bda572"
CONF = "spark.sql.streaming.checkpointLocation"


@pytest.fixture(autouse=True)
def a_new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sink_fence, "_known", {})


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A checkpoint as Spark makes it at a query's start."""
    folder = tmp_path / "check point"
    folder.mkdir()
    (folder / "metadata").write_text(json.dumps({"id": QUERY_ID}))
    return folder


@pytest.mark.parametrize(
    ("given", "query_name", "properties", "location"),
    [
        pytest.param("/c", "q", {CONF: "/root"}, "/c", id="option"),
        pytest.param(None, "q", {CONF: "s3a://bucket/root/"}, "s3a://bucket/root/q", id="setting and name"),
        pytest.param(None, None, {CONF: "/root"}, None, id="setting alone: a new folder at each start"),
        pytest.param(None, "q", {}, None, id="neither"),
    ],
)
def test_location_is_the_option_or_the_querys_folder_in_the_settings(
    given: str | None, query_name: str | None, properties: dict[str, str], location: str | None
) -> None:
    assert checkpoint_location(given, query_name, properties) == location


@pytest.mark.parametrize("as_uri", [False, True], ids=["path", "uri"])
def test_first_cluster_is_kept_and_another_one_is_refused(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch, as_uri: bool
) -> None:
    location = checkpoint.as_uri() if as_uri else str(checkpoint)

    check_cluster(location, QUERY_ID, "first")
    monkeypatch.setattr(sink_fence, "_known", {})
    check_cluster(location, QUERY_ID, "first")
    with pytest.raises(ConfigError) as refusal:
        check_cluster(location, QUERY_ID, "second")

    assert (checkpoint / FILE).read_text() == '{"version": 1, "clusterId": "first"}'
    assert "has cluster id second, expected first" in str(refusal.value)
    assert sorted(path.name for path in checkpoint.iterdir()) == [FILE, "metadata"], "nothing else is left"


@pytest.mark.parametrize(
    "location",
    ["/nowhere/at/all", "nosuchscheme://host/path", "file:///nowhere/at/all"],
    ids=["path", "scheme", "uri"],
)
def test_unreadable_checkpoint_is_named_once_and_the_query_continues(
    location: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        check_cluster(location, QUERY_ID, "first")
        check_cluster(location, QUERY_ID, "second")

    (record,) = caplog.records
    assert f"checkpoint={location}" in record.getMessage()
    assert "set the option kraft.cluster.id=first" in record.getMessage()


def test_checkpoint_of_another_query_is_left_alone(checkpoint: Path, caplog: pytest.LogCaptureFixture) -> None:
    check_cluster(str(checkpoint), "another query", "first")

    assert not (checkpoint / FILE).exists()
    assert "this process finds no metadata of this query there" in caplog.text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is malformed: b''. Remove it if the query writes to the right quorum"),
        (b"[1]", "is malformed"),
        (b'{"version": 1}', "is malformed"),
        (b'{"version": 2, "clusterId": "x"}', "has version 2, expected 1"),
        (b'{"version": 1, "clusterId": 5}', "has version 1"),
    ],
)
def test_file_that_is_not_ours_is_refused(checkpoint: Path, content: bytes, message: str) -> None:
    (checkpoint / FILE).write_bytes(content)

    with pytest.raises(ConfigError) as refusal:
        check_cluster(str(checkpoint), QUERY_ID, "first")

    assert message in str(refusal.value)


def test_folder_is_opened_by_what_its_location_says(tmp_path: Path) -> None:
    assert isinstance(open_folder(str(tmp_path)), LocalFolder)
    assert isinstance(open_folder(tmp_path.as_uri()), LocalFolder)
    with pytest.raises(OSError, match="nosuchscheme"):
        open_folder("nosuchscheme://host/path")


def test_folder_of_arrow_keeps_files_as_one_of_this_machine_does(tmp_path: Path) -> None:
    # Arrow's own local file system is used in place of its others, which have the same methods.
    for folder in (ArrowFolder(tmp_path.as_uri()), LocalFolder(tmp_path)):
        assert folder.read("file") is None
        for content in (b"old", b"new"):
            folder.write("file", content)
            assert folder.read("file") == content
        assert [path.name for path in tmp_path.iterdir()] == ["file"]
        (tmp_path / "file").unlink()
