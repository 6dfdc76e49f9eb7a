#!/usr/bin/env bash
# Checks what changed: uncommitted and untracked files, and commits that are not pushed. Format and lint look at these
# files; types, unused exports, sizes and ruff at all files, in seconds, because they keep what they learnt or are fast.
# Two checks run at a time. The last lines say what failed, and the command that corrects it.
# Usage: check.sh [REV], the revision to compare with. Default: where this branch left its upstream or, without one,
# main.
set -uo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.toolchain/bin:$PWD/.toolchain/venv/bin:$PATH"
cache=node_modules/.cache
start=$SECONDS
base=${1:-$(git merge-base HEAD '@{upstream}' 2> /dev/null || git merge-base HEAD main 2> /dev/null || echo HEAD)}
base=$(git rev-parse --verify --quiet "$base^{commit}") || { echo "check: there is no revision '${1:-}'" >&2; exit 2; }
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT

mapfile -t changed < <({
  git diff --name-only --diff-filter=d "$base"
  git ls-files --others --exclude-standard
} | sort -u)
# Those whose names match a pattern; all files where the settings of the check changed.
files_of() {
  if printf '%s\n' "${changed[@]}" | grep -qE "^($2|package-lock\.json)$"; then echo .; return; fi
  printf '%s\n' "${changed[@]}" | grep -E "$1"
}
mapfile -t to_format < <(files_of '\.(ts|js|mjs|json|md|ya?ml)$' '\.prettierrc\.json|\.prettierignore')
mapfile -t to_lint < <(files_of '\.ts$' 'eslint\.config\.js|tsconfig\.json')

format() {
  if [ ${#to_format[@]} -eq 0 ]; then return; fi
  npx --no-install prettier --list-different --ignore-unknown --cache --cache-strategy content \
    --cache-location "$cache/prettier.json" "${to_format[@]}"
}
lint() {
  if [ ${#to_lint[@]} -eq 0 ]; then return; fi
  npx --no-install eslint --cache --cache-strategy content --cache-location "$cache/eslint/" "${to_lint[@]}"
}
types() { npx --no-install tsc -p tsconfig.json --noEmit --incremental --tsBuildInfoFile "$cache/types.tsbuildinfo"; }
unused() { npm run --silent unused:check; }
sizes() { scripts/check-sizes.sh; }
# Without commits of its own a branch has its messages checked as CI does.
commits() {
  if [ "$base" = "$(git rev-parse HEAD)" ]; then scripts/check-commits.sh; else scripts/check-commits.sh "$base"; fi
}
ruff-lint() { ruff check --quiet .; }
ruff-format() { ruff format --quiet --check .; }

# The command that corrects what a check found.
remedy() {
  case $1 in
    format) echo "npx prettier --write $(paste -sd ' ' "$results/format.log")" ;;
    lint) echo "npx eslint --fix $(sed -n "s|^$PWD/||p" "$results/lint.log" | paste -sd ' '); the rest by hand" ;;
    types) echo "by hand, then: make check" ;;
    unused) echo "remove what is listed, or its 'export'" ;;
    sizes) echo "by hand: split the file, wrap the line" ;;
    commits) echo "git commit --amend for the last one, else: git rebase --interactive ${base:0:8}" ;;
    ruff-lint) echo "ruff check --fix ." ;;
    ruff-format) echo "ruff format ." ;;
  esac
}

checks=(types lint unused format commits sizes ruff-lint ruff-format)
for name in "${checks[@]}"; do
  while [ "$(jobs -rp | wc -l)" -ge 2 ]; do wait -n; done
  (
    began=$SECONDS
    if "$name" > "$results/$name.log" 2>&1 < /dev/null; then result=passed; else result=failed; fi
    echo $result > "$results/$name"
    printf '%-12s %s, %d s\n' "$name" $result $((SECONDS - began))
  ) &
done
wait

failed=()
for name in "${checks[@]}"; do
  if [ "$(cat "$results/$name")" = passed ]; then continue; fi
  failed+=("$name")
  printf '\n== %s\n' "$name"
  cat "$results/$name.log"
done
printf '\ncheck: %d changed files since %s, %d s' "${#changed[@]}" "${base:0:8}" $((SECONDS - start))
if [ ${#failed[@]} -eq 0 ]; then echo ', all passed'; exit 0; fi
echo "; failed, and what corrects it:"
for name in "${failed[@]}"; do printf '  %-12s %s\n' "$name" "$(remedy "$name")"; done
exit 1
