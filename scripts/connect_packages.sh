#!/usr/bin/env bash
# Installs what a client of Spark Connect needs (requirements/connect.txt) into a folder of .cache, and prints the folder.
# It is apart from .venv, so that the tests of everything else run without pandas and gRPC.
# The folder is created atomically, with a copy of the file. While the two files are equal, nothing is done.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=.cache/connect wanted=requirements/connect.txt
is_there() { cmp -s "$wanted" "$packages/connect.txt"; }

if ! is_there; then
    mkdir -p .cache
    partial=$(mktemp -d "$packages.XXXXXX")
    trap 'rm -rf "$partial"' EXIT
    "${1:-.venv/bin/python}" -m pip install --quiet --disable-pip-version-check --no-deps \
        --target "$partial" --requirement "$wanted" >&2
    cp "$wanted" "$partial/connect.txt"
    chmod 755 "$partial"
    # If two processes install at the same time, the second one finds the folder and does not replace it.
    if ! is_there; then
        rm -rf "$packages"
        mv "$partial" "$packages"
    fi
fi
echo "$PWD/$packages"
