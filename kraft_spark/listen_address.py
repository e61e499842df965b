"""Where the voters of a quorum service listen for clients."""

from __future__ import annotations

import warnings

from kraft_spark.spark_application import SparkApplication
from raft.errors import ConfigError
from raft.local import LOOPBACK, ListenAddress

_ALL_INTERFACES = ("0.0.0.0", "::", "")  # noqa: S104 - they are refused


def listen_address(listen: str, application: SparkApplication) -> ListenAddress:
    """Return the address for the argument `listen` of `QuorumService.start`.

    Args:
        listen: "loopback", "driver", or an address or name of this machine.
        application: of the driver. If its executors may be on other machines, loopback gives a warning.

    Raises:
        ConfigError: executors cannot connect to the address.
    """
    match listen:
        case "loopback":
            if not application.is_local:
                _warn_of_distant_executors()
            return LOOPBACK
        case "driver":
            return application.driver_address
        case host if host in _ALL_INTERFACES:
            raise ConfigError(
                f'listen="{listen}": expected an address that executors can connect to, "driver" or "loopback"; for '
                f'all interfaces, use "driver" and set spark.driver.bindAddress={_ALL_INTERFACES[0]}'
            )
        case host:
            return ListenAddress(host, host)


def _warn_of_distant_executors() -> None:
    warnings.warn(
        "the voters of QuorumService listen on 127.0.0.1, and the executors of this application may be on other "
        'machines, where tasks cannot reach the leader. Use listen="driver", or run nodes with kraft serve on hosts '
        "that executors can reach.",
        stacklevel=4,
    )
