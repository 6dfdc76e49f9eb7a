#!/usr/bin/env bash
# Compiles TypeScript into dist/ and bundles the workflows, unless dist/ was built from exactly these sources.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.toolchain/bin:$PWD/.toolchain/venv/bin:$PATH"

sources_hash() {
  {
    find . \( -name node_modules -o -name dist -o -name .git -o -name .toolchain -o -name .whetstone \) -prune \
      -o -name '*.ts' -print0
    printf '%s\0' package-lock.json package.json tsconfig.json tsconfig.build.json
  } | sort -z | xargs -0 sha256sum | sha256sum | cut -d ' ' -f 1
}

# Of two builds at a time the second one waits, and then finds what the first one made.
mkdir -p .toolchain
exec 9> .toolchain/build.lock
flock 9
hash=$(sources_hash)
if [ "$(cat dist/.built-from 2>/dev/null)" = "$hash" ]; then
  exit 0
fi
echo "build: compiling TypeScript and bundling the workflows"
rm -f dist/.built-from
npm run --silent build
chmod +x dist/cli/main.js
echo "$hash" > dist/.built-from
