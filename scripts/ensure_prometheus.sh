#!/usr/bin/env bash
# The tests check the alert rules with promtool, and the picture of the dashboard needs a Prometheus. Both are in Debian's
# package `prometheus`. Installs it if that needs no password (root, apt), or else prints the command. Without it the
# tests of the rules are skipped; in CI they fail.
set -euo pipefail

if command -v promtool > /dev/null && command -v prometheus > /dev/null; then
    exit 0
fi
if [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
    echo "promtool is missing; installing Debian's package prometheus"
    apt-get update --quiet=2
    DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet=2 --no-install-recommends prometheus
    # The package starts a server where systemd runs. The tests start their own.
    if [ -d /run/systemd/system ]; then
        systemctl disable --now --quiet prometheus
    fi
    exit 0
fi
echo "promtool is missing, so the tests of the alert rules are skipped. To run them, install it:" >&2
echo "    sudo apt-get install prometheus" >&2
exit 1
