#!/usr/bin/env bash
# Runs every check and every test. It does not stop at a failure, so that one run shows everything that needs a
# correction. With WHET_WITH_CLUSTER=1, and on a machine that can have a cluster, the cluster tests come last
# (scripts/test-cluster.sh); what they need is built meanwhile, in the time that the other tests leave idle. With
# WHET_WITH_VLLM=1 the tests with a real vLLM are among them (scripts/test-vllm.sh). The last line is 'N passed, N
# failed' over pytest and jest; a failed check (format, lint, types, ...) counts as one failure.
set -uo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.toolchain/bin:$PWD/.toolchain/venv/bin:$PATH"
results=${WHET_HOME:-$PWD/.whetstone}/test-results
rm -rf "$results" && mkdir -p "$results"
failed_checks=()

if [[ -n "${WHET_WITH_CLUSTER:-}" && -z "${KUBECONFIG:-}" ]] && scripts/cluster.sh why > /dev/null 2>&1; then
  setsid chrt --idle 0 scripts/cluster.sh prepare > "$results/cluster-prepare.log" 2>&1 < /dev/null &
  preparing=$!
  trap 'kill -- "-$preparing" 2> /dev/null' EXIT
fi

check() {
  local name=$1 start=$SECONDS
  shift
  printf '\n== %s: %s\n' "$name" "$*"
  if "$@" < /dev/null; then
    printf '== %s: %d s\n' "$name" $((SECONDS - start))
  else
    printf '== %s failed after %d s\n' "$name" $((SECONDS - start))
    failed_checks+=("$name")
  fi
}

check format npm run --silent format:check
check lint npm run --silent lint:check
check types npm run --silent types:check
check unused npm run --silent unused:check
check sizes scripts/check-sizes.sh
check commits scripts/check-commits.sh
check ruff ruff check .
check ruff-format ruff format --check .
check build scripts/build.sh
if [[ -n "${CI:-}" ]]; then check sbom scripts/sbom.sh "$results/sbom"; fi
# Files side by side, on the two cores that jest uses, too.
check pytest pytest -q -n 2 --dist loadfile --junitxml="$results/pytest.xml"
check jest npx --no-install jest --json --outputFile="$results/jest.json" ${CI:+--ci}
# Last and alone: it starts every service and trains a model.
check end-to-end env WHET_E2E=1 npx --no-install jest test/e2e --json --outputFile="$results/e2e.json" ${CI:+--ci}
if [[ -n "${WHET_WITH_VLLM:-}" ]]; then check vllm scripts/test-vllm.sh; fi
if [[ -n "${WHET_WITH_CLUSTER:-}" ]]; then check cluster scripts/test-cluster.sh; fi

node scripts/test-summary.js "$results" "${failed_checks[@]+"${failed_checks[@]}"}"
