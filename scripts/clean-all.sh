#!/usr/bin/env bash
# Removes everything that this checkout made or installed, after it has said what that is and has asked. YES=1 answers
# yes. The caches of uv, pip and npm belong to other projects as well: they are emptied only with CACHES=1.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.toolchain/bin:$PWD/.toolchain/venv/bin:$PATH"
cache_home=${XDG_CACHE_HOME:-$HOME/.cache}
whetstone_cache=$cache_home/whetstone
jail_root=$whetstone_cache/jail-root
if [ "$(id -u)" = 0 ]; then jail_root=/var/cache/whetstone; fi
jail_root=${WHET_JAIL_ROOT:-$jail_root}
cluster=${WHET_CLUSTER_STATE:-/var/tmp/whetstone-cluster}

places=() titles=()
place() { if [ -e "$1" ] || [ -L "$1" ]; then places+=("$1"); titles+=("$2"); fi; }
place .toolchain "Node, Python packages, Temporal"
place node_modules "npm packages"
place .whetstone "runs of this checkout, and all that they made"
place dist "what was compiled"
for folder in examples/orders-desk/frameworks/*/{.venv,node_modules}; do place "$folder" "packages of a framework"; done
for folder in coverage .pytest_cache .ruff_cache; do place $folder "left by checks and tests"; done
place "$whetstone_cache" "models that recipes made, programs of make cluster"
case $jail_root in "$whetstone_cache"/*) ;; *)
  place "$jail_root" "the jail's Python, which other checkouts make again at their next make setup"
esac
place "$cluster" "the cluster of make cluster"

size() { du -sh "$1" 2> /dev/null | cut -f 1; }
shared() {
  size=$(size "$1")
  if [ -n "$size" ]; then printf '  %6s  %s (%s)\n' "$size" "$1" "$2"; fi
}
caches=$(
  shared "${UV_CACHE_DIR:-$cache_home/uv}" uv
  shared "${PIP_CACHE_DIR:-$cache_home/pip}" pip
  shared "${npm_config_cache:-$HOME/.npm}" npm
)
if [ ${#places[@]} -eq 0 ] && [ -z "${CACHES:-}" ]; then
  echo "clean-all: nothing to remove."
else
  echo "clean-all removes:"
  for i in "${!places[@]}"; do printf '  %6s  %s: %s\n' "$(size "${places[$i]}")" "${places[$i]}" "${titles[$i]}"; done
fi
if [ -n "$caches" ]; then
  if [ -n "${CACHES:-}" ]; then echo "and empties:"; else echo "With CACHES=1 also what all projects share:"; fi
  echo "$caches"
  echo "  uv's cache holds the same files as .toolchain where both are on one disk: then only both together free them."
fi
if [ ${#places[@]} -eq 0 ] && [ -z "${CACHES:-}" ]; then exit 0; fi
if [ -z "${YES:-}" ]; then
  read -r -p "Remove all this? [y/N] " answer || true
  if [ "${answer:-}" != y ]; then echo "clean-all: nothing was removed."; exit 1; fi
fi

if [ -e dist/cli/main.js ]; then ./whet down; fi
if [ -e "$cluster" ]; then scripts/cluster.sh down; fi
# uv and npm go with .toolchain.
if [ -n "${CACHES:-}" ]; then
  if command -v uv > /dev/null; then uv cache clean; fi
  if [ -x .toolchain/venv/bin/pip ]; then .toolchain/venv/bin/pip cache purge; fi
  if command -v npm > /dev/null; then npm cache clean --force; fi
fi
for place in "${places[@]}"; do
  # What the jail reads may not be written, not even by its owner. A link is removed, not what it leads to.
  if [ ! -L "$place" ]; then chmod -R u+w "$place"; fi
  rm -rf "$place"
done
find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +
echo "clean-all: removed."
