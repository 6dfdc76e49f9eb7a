#!/usr/bin/env bash
# Asks for known vulnerabilities of what is locked: npm packages from the npm registry, Python packages from PyPI.
# Exit code 0: both answered and know none; 1: there are some, or one of them did not answer, which is no good news.
# Not part of `make test`: a mirror of a registry seldom has advisories, and what is known changes without a commit.
set -uo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.toolchain/bin:$PWD/.toolchain/venv/bin:$PATH"
failed=0

echo "== npm packages"
npm audit --omit dev || failed=1
echo "== Python packages"
# strict: a package of which PyPI says nothing is a failure.
uv run --quiet --no-project --isolated --with pip-audit==2.10.1 \
  pip-audit --strict --disable-pip --progress-spinner off -r trainer-image/requirements.lock || failed=1
exit "$failed"
