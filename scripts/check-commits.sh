#!/usr/bin/env bash
# Checks the messages of all commits since the rules last changed (commitlint.config.js), or since the commit named.
# A message that cannot be mended any more is left behind by a change of that file. Without history nothing is checked.
set -euo pipefail
cd "$(dirname "$0")/.."
git rev-parse --quiet --verify HEAD > /dev/null 2>&1 || { echo "check-commits: no history here"; exit 0; }
since=${1:-$(git log -1 --format=%H -- commitlint.config.js)}
exec npx --no-install commitlint --from "$since" --to HEAD
