#!/usr/bin/env bash
# Checks the messages of all commits since the rules exist (commitlint.config.js), or since the commit named.
set -euo pipefail
cd "$(dirname "$0")/.."
since=${1:-$(git log --diff-filter=A --format=%H -- commitlint.config.js | tail -n 1)}
exec npx --no-install commitlint --from "$since" --to HEAD
