#!/usr/bin/env bash
# Copies the jars that a Maven file beside this one names into a folder of .cache, and prints the folder.
#     fetch.sh              Apache Kafka's own programs
#     fetch.sh connector    Spark's source and sink for Kafka
# The folder is created atomically, with a copy of the Maven file. While the two files are equal, nothing is done.
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
    # If two processes fetch at the same time, the second one finds the folder and does not replace it.
    if ! is_there; then
        rm -rf "$jars"
        mv "$partial" "$jars"
    fi
fi
echo "$PWD/$jars"
