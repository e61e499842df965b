"""Three hosts: three configuration files as three machines would have them, here on loopback, with `kraft serve`.

python -m examples.three_hosts

On real hosts, replace 127.0.0.1 by the name of each host, and run `kraft serve --config node.properties` on each.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
from contextlib import ExitStack, closing
from pathlib import Path

KRAFT = [sys.executable, "-m", "raft.cli"]


def free_port() -> int:
    """Return a port on which no process listens now."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def properties(node_id: int, ports: dict[int, int], folder: Path) -> Path:
    """Write the configuration file of one host; return its path."""
    voters = ",".join(f"{voter}@127.0.0.1:{port}" for voter, port in ports.items())
    path = folder / f"node-{node_id}.properties"
    path.write_text(
        f"node.id={node_id}\n"
        "process.roles=controller\n"
        f"controller.quorum.voters={voters}\n"
        f"listeners=CONTROLLER://127.0.0.1:{ports[node_id]}\n"
        "controller.listener.names=CONTROLLER\n"
        "cluster.id=J8qFJ5vSQ_WmUo0zCbbnZg\n"
        f"log.dirs={folder / f'node-{node_id}'}\n"
    )
    return path


def kraft(*arguments: str, text: str | None = None) -> None:
    """Print a command of `kraft`, and run it."""
    print("$ kraft", *arguments, flush=True)
    subprocess.run([*KRAFT, *arguments], input=text, text=True, check=True)


def main() -> None:
    """Run the example."""
    ports = {node_id: free_port() for node_id in (1, 2, 3)}
    servers = ",".join(f"127.0.0.1:{port}" for port in ports.values())
    with tempfile.TemporaryDirectory() as name, ExitStack() as hosts:
        folder = Path(name)
        for node_id in ports:
            command = [*KRAFT, "serve", "--config", str(properties(node_id, ports, folder))]
            host = hosts.enter_context(subprocess.Popen(command, stderr=subprocess.DEVNULL))
            hosts.callback(host.terminate)
        kraft("append", "--bootstrap-server", servers, "created", "--key", "topic-1")
        kraft("append", "--bootstrap-server", servers, text="topic-2\tcreated\ntopic-1\tdeleted\n")
        kraft("read", "--bootstrap-server", servers)
        kraft("quorum", "describe", "--bootstrap-server", servers, "--status")
        kraft("quorum", "describe", "--bootstrap-server", servers, "--replication", "--human-readable")


if __name__ == "__main__":
    main()
