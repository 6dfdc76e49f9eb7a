#!/usr/bin/env bash
# Runs one measurement: bench/NAME.py with the project's Python, or bench/NAME.ts as built. Its last line is JSON.
set -euo pipefail
cd "$(dirname "$0")/.."
name=${1:-}
available=$(find bench -maxdepth 1 \( -name '*.py' -o -name '*.ts' \) -printf '%f\n' | sed 's/\.[a-z]*$//' |
  sort -u | paste -sd ' ')
if [[ -n "$name" && -f "bench/$name.py" ]]; then
  export PYTHONPATH="$PWD/trainer-image:$PWD/examples/shared${PYTHONPATH:+:$PYTHONPATH}"
  exec .toolchain/venv/bin/python "bench/$name.py" "${@:2}"
elif [[ -n "$name" && -f "dist/bench/$name.js" ]]; then
  exec node --enable-source-maps "dist/bench/$name.js" "${@:2}"
fi
{
  echo "bench: there is no measurement '${name}'."
  echo "Name one: make bench NAME=<name>, with one of: ${available:-none yet}."
} >&2
exit 2
