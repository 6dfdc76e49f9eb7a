#!/usr/bin/env bash
# Tests training as Jobs on a real cluster, and every way to get stuck there. Without KUBECONFIG it starts its own
# cluster and stops it afterwards (KEEP=1 leaves it); where that is impossible, it says why and passes. With KUBECONFIG
# it creates a namespace in that cluster, which needs the trainer image that WHET_CLUSTER_IMAGE names, and nodes that
# see this machine's /var/tmp and Python packages. Arguments choose test files.
set -uo pipefail
cd "$(dirname "$0")/.."
# Pods run as another user and read what the tests write.
umask 022
export PATH="$PWD/.toolchain/bin:$PWD/.toolchain/venv/bin:$PATH"
results=${WHET_HOME:-$PWD/.whetstone}/test-results
mkdir -p "$results" && rm -f "$results/cluster.json"

if [ -z "${KUBECONFIG:-}" ]; then
  if ! why=$(scripts/cluster.sh why 2>&1); then
    echo "test-cluster: skipped. $why"
    exit 0
  fi
  if ! KUBECONFIG=$(scripts/cluster.sh up) || ! scripts/cluster.sh image; then
    echo "test-cluster: the cluster did not start."
    scripts/cluster.sh down
    exit 1
  fi
  export KUBECONFIG
  if [ -z "${KEEP:-}" ]; then trap 'scripts/cluster.sh down' EXIT; fi
fi

WHET_HELM=${WHET_HELM:-$(scripts/cluster.sh helm)} || {
  echo "test-cluster: helm, which renders the chart, could not be built; name one with WHET_HELM."
  exit 1
}
export WHET_HELM

# --forceExit: a connection that a library keeps open must not hold up CI. TMPDIR: nodes mount stores from there; pods
# have a /tmp of their own.
TMPDIR=/var/tmp WHET_TEST_CLUSTER=1 npx --no-install jest "${@:-test/cluster}" --runInBand --json --forceExit \
  --outputFile="$results/cluster.json" ${CI:+--ci}
node scripts/test-summary.js "$results" --only=cluster
