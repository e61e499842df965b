#!/usr/bin/env bash
# Spark needs Java 17. Installs it if that needs no password (root, apt), or else prints the command.
set -euo pipefail

found=$( { java -version 2>&1 || true; } | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1)
if [ -n "$found" ] && [ "$found" -ge 17 ]; then
    exit 0
fi
if [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
    echo "Java 17 is missing (found: ${found:-none}); installing openjdk-17-jre-headless"
    apt-get update --quiet=2 && apt-get install --yes --quiet=2 openjdk-17-jre-headless
    exit 0
fi
echo "Java 17 is missing (found: ${found:-none}). Install it first, for example:" >&2
echo "    sudo apt-get install openjdk-17-jre-headless" >&2
exit 1
