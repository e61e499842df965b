#!/usr/bin/env bash
# Makes the virtual environment from pinned versions and installs the project into it. Called by make.
set -euo pipefail

"$PYTHON" - <<'PY'
import sys
if sys.version_info < (3, 11):
    sys.exit(f"kraft-spark needs Python 3.11 or newer, this is {sys.version.split()[0]}: call `make PYTHON=python3.11 ...`")
PY
bash scripts/ensure_java.sh
bash scripts/ensure_prometheus.sh || true
# In CI the test of the benchmarks requires every peer; elsewhere it leaves out those that are not installed.
[ -z "${CI:-}" ] || bash scripts/ensure_etcd.sh || true
# Likewise the test of the documentation site needs a browser there.
[ -z "${CI:-}" ] || bash scripts/ensure_chromium.sh || true
[ -x "$VENV/bin/python" ] || "$PYTHON" -m venv "$VENV"
"$VENV/bin/pip" install --quiet --disable-pip-version-check -r requirements/tools.txt
"$VENV/bin/pip" install --quiet --disable-pip-version-check --no-build-isolation --no-deps --editable .
