#!/usr/bin/env bash
# Writes the lock files anew from node/package.json and python/*.in. Versions already locked stay unless what is
# asked for has changed. The Python locks hold the hashes of every platform's wheels, for Python 3.11 and newer.
set -euo pipefail
cd "$(dirname "$0")"

(cd node && npm install --package-lock-only --omit-lockfile-registry-resolved --ignore-scripts --no-audit --no-fund)

venv=$(mktemp -d)
trap 'rm -rf "$venv"' EXIT
python3 -m venv "$venv"
"$venv/bin/pip" install --quiet uv==0.13.9
for input in python/*.in; do
    "$venv/bin/uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --only-binary :all: \
        --no-header --no-annotate --no-emit-index-url --no-emit-find-links "$input" -o "${input%.in}.txt"
done
git --no-pager diff --stat -- .
