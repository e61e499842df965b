#!/usr/bin/env bash
# Copies Apache Kafka's jars, as pom.xml beside this file names them, into .cache/kafka-4.3.1, and prints that folder.
# The folder appears whole or not at all. The pom that it was made from lies in it: while that is ours, nothing is done.
set -euo pipefail
cd "$(dirname "$0")/../.."

pom=scripts/kafka/pom.xml
jars=.cache/kafka-4.3.1
is_there() { cmp -s "$pom" "$jars/pom.xml"; }

if ! is_there; then
    mkdir -p .cache
    partial=$(mktemp -d "$jars.XXXXXX")
    trap 'rm -rf "$partial"' EXIT
    mvn --quiet --batch-mode --file "$pom" dependency:copy-dependencies -DoutputDirectory="$PWD/$partial" >&2
    cp "$pom" "$partial/pom.xml"
    chmod 755 "$partial"
    # Of two that fetch at the same time, the second finds the jars there and leaves them.
    if ! is_there; then
        rm -rf "$jars"
        mv "$partial" "$jars"
    fi
fi
echo "$PWD/$jars"
