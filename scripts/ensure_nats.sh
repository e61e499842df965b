#!/usr/bin/env bash
# `python -m tests.disk_faults --system nats` compares with the NATS server that Jepsen has tested. Builds that version
# with Go into .cache/nats, and installs its Python client into .venv.
set -euo pipefail
cd "$(dirname "$0")/.."

SERVER_VERSION=v2.12.1
CLIENT_VERSION=2.16.0

if ! command -v go > /dev/null; then
    echo "go is missing; NATS is built with Go 1.24 or newer" >&2
    exit 1
fi
mkdir -p .cache/nats
if [ ! -x .cache/nats/nats-server ]; then
    GOBIN="$PWD/.cache/nats" go install "github.com/nats-io/nats-server/v2@$SERVER_VERSION"
fi
.venv/bin/pip install --quiet --disable-pip-version-check "nats-py==$CLIENT_VERSION"
