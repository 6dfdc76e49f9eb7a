#!/usr/bin/env bash
# Installs the packages of the agents in examples/orders-desk/frameworks beside them, from their lock files. Arguments
# choose frameworks. What was installed from the same lock stays.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.toolchain/bin:$PWD/.toolchain/venv/bin:$PATH"
cd examples/orders-desk/frameworks
# A jail shows the Python of the system, not that of a home directory.
python=/usr/bin/python3

if [ $# = 0 ]; then set -- langgraph openai-agents ai-sdk; fi
for framework; do
  lock=requirements.lock to=.venv
  if [ -e "$framework/package-lock.json" ]; then lock=package-lock.json to=node_modules; fi
  stamp=$framework/$to/.installed-from
  if cmp -s "$framework/$lock" "$stamp"; then continue; fi
  echo "installing what $framework/$lock names"
  if [ "$to" = node_modules ]; then
    npm ci --silent --no-audit --no-fund --prefix "$framework"
  else
    uv venv --quiet --clear --python "$python" "$framework/.venv"
    # Modules that are not compiled would be compiled in every episode.
    uv pip install --quiet --compile-bytecode --python "$framework/.venv/bin/python" --requirement "$framework/$lock"
  fi
  cp "$framework/$lock" "$stamp"
done
