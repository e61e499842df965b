"""Reads that are refused, beside secrets that their messages must not have."""

from __future__ import annotations

from dataclasses import dataclass

from raft.config.security import login_module
from tests.secured_spark.planting import JAAS_VARIABLE, Options, Planted, reference_to

DRIVER_FILE = "driver-only.pem"
"""A file in the working directory of the driver, which Spark does not bring to executors."""

JAAS = f'{login_module("SCRAM-SHA-256")} required username="application" password="{{}}";'


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A read that is refused.

    Fields:
        way: whose options it has.
        changes: other values of options; None for without one.
        message: a pattern of the message of this project.
    """

    way: str
    changes: dict[str, str | None]
    message: str

    def options(self, planted: Planted) -> Options:
        """Return its options."""
        options = {**planted.ways[self.way], **self.changes}
        return {name: value for name, value in options.items() if value is not None}


REFUSED = {
    "password": Refused(
        way="file",
        changes={"kraft.sasl.jaas.config": JAAS.format(reference_to("wrong"))},
        message=r"AuthenticationError: 127\.0\.0\.1:\d+: the node refused the credentials in sasl\.jaas\.config: ",
    ),
    "password of a key": Refused(
        way="key",
        changes={"kraft.ssl.key.password": reference_to("wrong")},
        message=r"ConfigError: ssl\.keystore\.location=\S*client\.pem: expected a PEM file with a private key and its "
        r"certificates, and ssl\.key\.password if the key is encrypted",
    ),
    "certificates": Refused(
        way="file",
        changes={
            "kraft.ssl.truststore.location": None,
            "kraft.ssl.truststore.certificates": reference_to("password"),
        },
        message=r"ConfigError: ssl\.truststore\.certificates: expected certificates as PEM",
    ),
    "file of the driver": Refused(
        way="file",
        changes={"kraft.ssl.truststore.location": DRIVER_FILE},
        message=r"ConfigError: ssl\.truststore\.location=driver-only\.pem: no such file on host \S+; it may be a "
        r"relative location of a file that Spark brings to each process \(spark\.files, SparkContext\.addFile\)",
    ),
    "user of the executor": Refused(
        way="file",
        changes={"kraft.sasl.jaas.config": "${env:" + JAAS_VARIABLE + "}"},
        message=r"ConfigError: the nodes show this client no topic: expected a rule in raft\.authorization\.file",
    ),
}
"""The last two are refused in a task on the executor, the others when the read is planned."""
