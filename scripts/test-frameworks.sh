#!/usr/bin/env bash
# Tests the orders desk as agents of frameworks, whose packages are installed the first time (250 MB).
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.toolchain/bin:$PWD/.toolchain/venv/bin:$PATH"
scripts/install-frameworks.sh
WHET_TEST_FRAMEWORKS=1 npx jest test/with-frameworks --runInBand "$@"
