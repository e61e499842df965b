"""Where the voters of a quorum service listen for clients."""

from __future__ import annotations

import warnings

from kraft_spark.spark_application import SparkApplication
from raft.errors import ConfigError
from raft.local import LOOPBACK, ListenAddress

_ALL_INTERFACES = ("0.0.0.0", "::", "")  # noqa: S104 - they are refused


def listen_address(listen: str, application: SparkApplication, *, trust_network: bool) -> ListenAddress:
    """Return the address for the argument `listen` of `QuorumService.start`.

    Args:
        listen: "loopback", "driver", or an address or name of this machine.
        application: of the driver. If its executors may be on other machines, loopback gives a warning.
        trust_network: whether everyone who reaches the address may read and write all records.

    Raises:
        ConfigError: executors cannot connect to the address, or it is not loopback and `trust_network` is false.
    """
    match listen:
        case "loopback":
            if not application.is_local:
                _warn_of_distant_executors()
            return LOOPBACK
        case "driver":
            address = application.driver_address
        case host if host in _ALL_INTERFACES:
            raise ConfigError(
                f'listen="{listen}": expected an address that executors can connect to, "driver" or "loopback"; for '
                f'all interfaces, use "driver" and set spark.driver.bindAddress={_ALL_INTERFACES[0]}'
            )
        case host:
            address = ListenAddress(host, host)
    if not trust_network:
        raise ConfigError(
            f'listen="{listen}": expected trust_network=True as well, because connections are not encrypted and there '
            f"is no authentication: everyone who reaches the ports of the voters on {address.bind} can read and write "
            "all records"
        )
    return address


def _warn_of_distant_executors() -> None:
    warnings.warn(
        "the voters of QuorumService listen on 127.0.0.1, and the executors of this application may be on other "
        'machines, where tasks cannot reach the leader. Use listen="driver", or run nodes with kraft serve on hosts '
        "that executors can reach.",
        stacklevel=4,
    )
