#!/usr/bin/env bash
# Training as Jobs on a real cluster, and every way to get stuck there. Without KUBECONFIG it starts its own cluster and
# ends it afterwards (KEEP=1 leaves it); where that cannot be, it says why and passes. With KUBECONFIG it makes a
# namespace there; the cluster then needs the trainer image that WHET_CLUSTER_IMAGE names, and nodes that see this
# machine's /var/tmp and Python packages. Arguments choose test files.
set -uo pipefail
cd "$(dirname "$0")/.."
# Pods read what the tests write, as a user of their own.
umask 022
export PATH="$PWD/.toolchain/bin:$PWD/.toolchain/venv/bin:$PATH"
results=${WHET_HOME:-$PWD/.whetstone}/test-results
mkdir -p "$results" && rm -f "$results/cluster.json"

if [ -z "${KUBECONFIG:-}" ]; then
  if ! why=$(scripts/cluster.sh why 2>&1); then
    echo "test-cluster: skipped. $why"
    exit 0
  fi
  KUBECONFIG=$(scripts/cluster.sh up) && scripts/cluster.sh image || { echo "test-cluster: the cluster did not start."; scripts/cluster.sh down; exit 1; }
  export KUBECONFIG
  if [ -z "${KEEP:-}" ]; then trap 'scripts/cluster.sh down' EXIT; fi
fi

WHET_HELM=${WHET_HELM:-$(scripts/cluster.sh helm)} || { echo "test-cluster: helm, which renders the chart, could not be built; name one with WHET_HELM."; exit 1; }
export WHET_HELM

# Exit forced: a connection that a library keeps open must not hold up CI. Stores lie where nodes mount them from: not
# in /tmp, which pods have of their own.
TMPDIR=/var/tmp WHET_TEST_CLUSTER=1 npx --no-install jest "${@:-test/cluster}" --runInBand --json --forceExit --outputFile="$results/cluster.json" ${CI:+--ci}
node scripts/test-summary.js "$results" --only=cluster
