"""DataFrames that write the log of one quorum, and read it as a batch or as a stream."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from pyspark.sql import DataFrame, SparkSession

from raft.client import Client, ClientSettings
from raft.config.endpoints import addresses
from raft.config.security import NO_SECURITY, ClientSecurity, client_security
from raft.local import LocalQuorum

SERVERS = "kraft.bootstrap.servers"


@dataclass(frozen=True, slots=True)
class Frames:
    """Reads and writes of a Spark application with one quorum.

    Options are keyword arguments; a name with dots is passed in a dictionary, as `**{"kraft.cluster.id": ...}`.

    Fields:
        spark: session of the application.
        servers: the option `kraft.bootstrap.servers`.
        security: of the clients that this process has besides Spark.
    """

    spark: SparkSession
    servers: str
    security: ClientSecurity = NO_SECURITY

    @classmethod
    def of(cls, spark: SparkSession, quorum: LocalQuorum) -> Self:
        """Return those of a local quorum, whose credentials the application has (`tests.spark.quorums`)."""
        return cls(spark, quorum.bootstrap_servers, client_security(quorum.client_properties))

    def rows(self, rows: Sequence[Any], schema: str = "value string") -> DataFrame:
        return self.spark.createDataFrame(rows, schema)

    def values(self, values: Iterable[str]) -> DataFrame:
        return self.rows([(value,) for value in values])

    def write(self, rows: DataFrame, **options: Any) -> None:
        rows.write.format("kraft").options(**{SERVERS: self.servers, **options}).mode("append").save()

    def read(self, **options: Any) -> DataFrame:
        return self.spark.read.format("kraft").options(**{SERVERS: self.servers, **options}).load()

    def stream(self, **options: Any) -> DataFrame:
        return self.spark.readStream.format("kraft").options(**{SERVERS: self.servers, **options}).load()

    def end(self) -> int:
        """Return the high watermark of the leader."""
        with self.client() as client:
            return client.last_stable_offset()

    def log(self, start_offset: int = 0) -> list[tuple[int, str | None]]:
        """Return offset and value of every data record, in the order of the log."""
        read = self.read(startingOffsets=start_offset).selectExpr("offset", "cast(value as string)").orderBy("offset")
        return [tuple(row) for row in read.collect()]

    def log_values(self, start_offset: int = 0) -> list[str | None]:
        """Return the value of every data record, in the order of the log."""
        return [value for _, value in self.log(start_offset)]

    def client(self) -> Client:
        return Client(ClientSettings(bootstrap_servers=addresses(SERVERS, self.servers), security=self.security))


def numbered(prefix: str, count: int, start: int = 0) -> list[str]:
    """Return values in order: prefix-000, prefix-001, ..."""
    return [f"{prefix}-{number:03}" for number in range(start, start + count)]
