#!/usr/bin/env bash
# The test of the documentation site looks at its pages in a headless Chromium. Installs Debian's package if that needs no
# password (root, apt), or else prints the command. Without it the test is skipped; in CI it fails.
set -euo pipefail

for program in chromium-headless-shell chromium google-chrome; do
    if command -v "$program" > /dev/null; then
        exit 0
    fi
done
if [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
    echo "Chromium is missing; installing chromium-headless-shell"
    apt-get update --quiet=2
    DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet=2 --no-install-recommends chromium-headless-shell
    exit 0
fi
echo "Chromium is missing, so the test of the documentation site is skipped. To run it, install it:" >&2
echo "    sudo apt-get install chromium-headless-shell" >&2
exit 1
