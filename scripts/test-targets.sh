#!/usr/bin/env bash
# Tests the environment kinds that play packages of others, which `whet env add` installs (2 GB). Arguments choose
# test files. CLONE names a clone of github.com/apple/ToolSandbox; without it that kind is left out.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.toolchain/bin:$PWD/.toolchain/venv/bin:$PATH"
scripts/build.sh
python_of() {
  ./whet env add "$1" --json | node -pe 'JSON.parse(require("fs").readFileSync(0, "utf8")).venv + "/bin/python"'
}
WHET_TEST_TAU2=$(python_of tau2)
WHET_TEST_OPENENV=$(python_of openenv)
WHET_TEST_VERIFIERS=$(python_of verifiers)
export WHET_TEST_TAU2 WHET_TEST_OPENENV WHET_TEST_VERIFIERS
if [[ -n "${CLONE:-}" ]]; then
  WHET_TEST_TOOLSANDBOX=$(python_of toolsandbox)
  export WHET_TEST_TOOLSANDBOX
fi
pytest -q "${@:-test/with-targets}"
