#!/usr/bin/env bash
# Copies jars, as a file of Maven's beside this one names them, into a folder of .cache, and prints that folder.
#     fetch.sh              Apache Kafka's own programs
#     fetch.sh connector    Spark's source and sink for Kafka
# The folder appears whole or not at all. The file that it was made from lies in it: while that is ours, nothing is done.
set -euo pipefail
cd "$(dirname "$0")/../.."

case "${1:-programs}" in
    programs) pom=scripts/kafka/pom.xml jars=.cache/kafka-4.3.1 ;;
    connector) pom=scripts/kafka/connector.xml jars=.cache/spark-kafka-4.2.0 ;;
    *) echo "usage: $0 [programs|connector]" >&2; exit 2 ;;
esac
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
