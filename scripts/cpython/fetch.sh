#!/usr/bin/env bash
# Unpacks the CPython that pom.xml beside this file names into .cache, and prints the path of its program.
# The folder is created atomically, with a copy of pom.xml. While the two files are equal, nothing is done.
set -euo pipefail
cd "$(dirname "$0")/../.."

if [ "$(uname -sm)" != "Linux x86_64" ]; then
    echo "this package holds a CPython for Linux on x86-64 only, and this is $(uname -sm)" >&2
    exit 1
fi
pom=scripts/cpython/pom.xml
version=$(sed -n 's|^  <version>\(.*\)</version>$|\1|p' "$pom")
home=.cache/cpython-$version
program=$home/org/bytedeco/cpython/linux-x86_64/bin/python${version%.*}

if ! cmp -s "$pom" "$home/pom.xml"; then
    mkdir -p .cache
    partial=$(mktemp -d "$home.XXXXXX")
    trap 'rm -rf "$partial"' EXIT
    mvn --quiet --batch-mode --file "$pom" dependency:unpack-dependencies \
        -DexcludeTransitive=true -DoutputDirectory="$PWD/$partial" >&2
    cp "$pom" "$partial/pom.xml"
    chmod 755 "$partial" "$partial${program#"$home"}"
    rm -rf "$home"
    mv "$partial" "$home"
fi
echo "$PWD/$program"
