#!/usr/bin/env bash
# Installs what is missing, then runs every check and every test. It does not stop at a failure, so that one run shows
# everything that needs a correction. With WHET_WITH_CLUSTER=1 the tests in a real cluster (scripts/test-cluster.sh) and
# with WHET_WITH_VLLM=1 those with a real vLLM (scripts/test-vllm.sh) are among them. They mostly wait, so they run in
# parallel with the others, and their output comes after that of the others. The last line is 'N passed, N failed' over
# all tests; a failed check (format, lint, types, ...) counts as one failure, and so does a suite that did not run.
set -uo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.toolchain/bin:$PWD/.toolchain/venv/bin:$PATH"
results=${WHET_HOME:-$PWD/.whetstone}/test-results
rm -rf "$results" && mkdir -p "$results"
failed=$results/failed-checks
: > "$failed"

# in_parallel NAME COMMAND...: starts it in a process group of its own, which ends with this script. Its output is kept,
# and its number is in $started.
groups=()
in_parallel() {
  local name=$1
  shift
  set -m
  "$@" > "$results/$name.log" 2>&1 < /dev/null &
  started=$!
  set +m
  groups+=("$started")
}
end_groups() { local group; for group in "${groups[@]+"${groups[@]}"}"; do kill -- "-$group" 2> /dev/null; done; }
trap end_groups EXIT
trap 'exit 130' INT TERM

check() {
  local name=$1 start=$SECONDS
  shift
  printf '\n== %s: %s\n' "$name" "$*"
  if "$@" < /dev/null; then
    printf '== %s: %d s\n' "$name" $((SECONDS - start))
  else
    printf '== %s failed after %d s\n' "$name" $((SECONDS - start))
    echo "$name" >> "$failed"
  fi
}

suites=()
if [ -n "${WHET_WITH_CLUSTER:-}" ]; then
  suites+=(--with=cluster)
  # The longest of all preparations begins first. The cluster's tests wait for its end.
  if [ -z "${KUBECONFIG:-}" ]; then in_parallel cluster-prepare scripts/cluster.sh prepare; fi
fi
if [ -n "${WHET_WITH_VLLM:-}" ]; then suites+=(--with=vllm); fi

setup_start=$SECONDS
scripts/setup.sh || exit 1
echo "== setup: $((SECONDS - setup_start)) s"

in_background=()
if [ -n "${WHET_WITH_CLUSTER:-}" ]; then
  in_parallel cluster check cluster scripts/test-cluster.sh
  in_background+=(cluster)
fi
if [ -n "${WHET_WITH_VLLM:-}" ]; then
  in_parallel vllm check vllm scripts/test-vllm.sh
  in_background+=(vllm)
fi

in_parallel lint check lint npm run --silent lint:check
lint=$started
check format npm run --silent format:check
check types npm run --silent types:check
check unused npm run --silent unused:check
check sizes scripts/check-sizes.sh
check commits scripts/check-commits.sh
check ruff ruff check .
check ruff-format ruff format --check .
check build scripts/build.sh
if [[ -n "${CI:-}" ]]; then check sbom scripts/sbom.sh "$results/sbom"; fi
# One that was killed did not note that it failed.
wait "$lint" || echo lint >> "$failed"
cat "$results/lint.log"
# As many files in parallel as with jest. Where Python may not write compiled modules, every process that a test starts
# would compile what the setup did not.
check pytest env -u PYTHONDONTWRITEBYTECODE pytest -q -n 3 --dist loadfile --junitxml="$results/pytest.xml"
# The end-to-end test starts every service, trains models, and waits for them more than it computes.
in_parallel end-to-end check end-to-end \
  env WHET_E2E=1 npx --no-install jest test/e2e --json --outputFile="$results/e2e.json" ${CI:+--ci}
in_background+=(end-to-end)
check jest npx --no-install jest --json --outputFile="$results/jest.json" ${CI:+--ci}
wait
for suite in "${in_background[@]}"; do cat "$results/$suite.log"; done

mapfile -t failed_checks < "$failed"
node scripts/test-summary.js "$results" "${suites[@]+"${suites[@]}"}" "${failed_checks[@]+"${failed_checks[@]}"}"
