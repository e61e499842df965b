"""Streams go on when their password or their certificate is replaced in its file (AUTH-11)."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from raft.properties import format_properties
from tests.node.harness.waiting import eventually
from tests.secured.secured_quorum import APPLICATION, READER, WRITER, SecuredQuorum
from tests.secured.ways import MUTUAL, SCRAM
from tests.secured_spark.planting import change_password
from tests.spark.frames import Frames
from tests.spark.secured import may_read, options_of
from tests.spark.streams import Delivered, wait_until

pytestmark = pytest.mark.spark


@pytest.mark.rule("AUTH-11")
def test_streams_go_on_with_a_new_password_and_a_new_certificate(spark: SparkSession, tmp_path: Path) -> None:
    with SecuredQuorum(tmp_path).start() as quorum:
        quorum.settle()
        # One stream has the password of the application, the other one the certificate of the reader at first.
        old_password, old_certificate = quorum.access(SCRAM), quorum.access(MUTUAL, READER)
        secrets, keystore = tmp_path / "secrets.properties", tmp_path / "stream.pem"
        secrets.write_text(format_properties({"password": old_password.password}))
        shutil.copy(old_certificate.keystore, keystore)
        accesses = [
            replace(old_password, password=f"${{file:{secrets}:password}}"),
            replace(old_certificate, keystore=keystore),
        ]
        writer = options_of(quorum.access(SCRAM, WRITER))
        frames = Frames(spark, old_password.bootstrap_servers)
        delivered = [
            Delivered(frames.stream(**options_of(access), startingOffsets="earliest"), tmp_path / f"stream {number}")
            for number, access in enumerate(accesses)
        ]
        queries = [each.start() for each in delivered]
        try:
            frames.write(frames.values(["before"]), **writer)
            wait_until(lambda: all(each.values == ["before"] for each in delivered), "rows before", *queries)

            change_password(tmp_path, APPLICATION, "a new password", SCRAM)
            secrets.write_text(format_properties({"password": "a new password"}))
            shutil.copy(quorum.access(MUTUAL, APPLICATION).keystore, keystore)
            quorum.kill()  # No connection outlives this, so the streams have to prove their names again.
            quorum.start()
            rules = tmp_path / "authorization.toml"
            rules.write_text(rules.read_text().replace(f', "User:{READER}"', ""))
            for old in (old_password, old_certificate):
                eventually(lambda old=old: not may_read(old), "what was replaced is refused")  # type: ignore[misc]
            frames.write(frames.values(["after"]), **writer)

            wait_until(lambda: all(each.values == ["before", "after"] for each in delivered), "rows after", *queries)
        finally:
            for query in queries:
                query.stop()
