#!/usr/bin/env bash
# Tests the trainer and the gateway against a real vLLM, which scripts/vllm.sh installs. Arguments choose test files.
set -uo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.toolchain/bin:$PWD/.toolchain/venv/bin:$PATH"
results=${WHET_HOME:-$PWD/.whetstone}/test-results
mkdir -p "$results" && rm -f "$results/vllm.xml"
if ! scripts/vllm.sh; then
  echo "test-vllm: vLLM could not be installed."
  exit 1
fi
# The gateway is tested as a process.
scripts/build.sh || exit 1
WHET_TEST_VLLM=1 pytest -q "${@:-test/with-vllm}" --junitxml="$results/vllm.xml"
node scripts/test-summary.js "$results" --only=vllm
