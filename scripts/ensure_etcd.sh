#!/usr/bin/env bash
# `make bench` measures etcd beside the quorum. Installs Debian's package if that needs no password (root, apt), or
# else prints the command. The benchmark runs without etcd too, so it is no failure if etcd is missing. In CI its test
# fails then.
set -euo pipefail

if command -v etcd > /dev/null; then
    exit 0
fi
if [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
    echo "etcd is missing; installing etcd-server"
    apt-get update --quiet=2
    DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet=2 --no-install-recommends etcd-server
    # Where systemd runs, the package starts a member, which would take processor time from the benchmark.
    if [ -d /run/systemd/system ]; then
        systemctl disable --now --quiet etcd
    fi
    exit 0
fi
echo "etcd is missing, so the rows that compare with it are left out. To add them, install it:" >&2
echo "    sudo apt-get install etcd-server" >&2
