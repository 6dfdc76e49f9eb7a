#!/usr/bin/env bash
# Writes what a release consists of, with versions and hashes, as CycloneDX: npm packages and Python packages. From the
# lock files, so it is the same on every machine. Usage: scripts/sbom.sh [FOLDER], by default .whetstone/sbom
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-${WHET_HOME:-$PWD/.whetstone}/sbom}
export PATH="$PWD/.toolchain/bin:$PWD/.toolchain/venv/bin:$PATH"
mkdir -p "$folder"

npm sbom --sbom-format cyclonedx --package-lock-only --omit dev > "$folder/npm.cdx.json"
uv run --quiet --no-project --isolated --with-requirements scripts/sbom.lock \
  cyclonedx-py requirements --output-reproducible --of JSON -o "$folder/python.cdx.json" trainer-image/requirements.lock

# Nothing that is locked may be missing, nor be without a hash.
python - "$folder" <<'PYTHON'
import json, re, sys
from pathlib import Path

folder = Path(sys.argv[1])
python, npm = (json.loads((folder / name).read_text())["components"] for name in ("python.cdx.json", "npm.cdx.json"))
locked = set(re.findall(r"^([a-z0-9._-]+)==", Path("trainer-image/requirements.lock").read_text(), re.MULTILINE))
hashed = {one["name"] for one in python if any(link.get("hashes") for link in one["externalReferences"])}
missing = sorted(locked - hashed) + sorted(one["name"] for one in npm if not one.get("hashes"))
if missing or not npm:
    sys.exit(f"sbom: without a hash, or missing: {', '.join(missing) or 'every npm package'}")
print(f"sbom: {len(npm)} npm and {len(python)} Python packages in {folder}")
PYTHON
