#!/usr/bin/env bash
# Lines of at most 120 columns and files of at most 400 lines, where no linter looks: scripts and prose, and the length
# of Python files. ESLint checks TypeScript, ruff the lines of Python. The demo agent's Python is left as recorded.
set -euo pipefail
cd "$(dirname "$0")/.."
failed=0
complain() { echo "$1" >&2; failed=1; }

while read -r file; do
  lines=$(wc -l < "$file")
  [ "$lines" -le 400 ] || complain "$file: $lines lines; at most 400"
done < <(git ls-files '*.py' '*.sh' | grep -v '^examples/')

while read -r file; do
  # Of Markdown, tables, links and indented figures are as wide as they need to be.
  long=$(awk 'FILENAME ~ /[.]md$/ && (/^ *[|]/ || /\]\(/ || /^    /) { next }
    length > 120 { print FILENAME ":" FNR ": " length " columns; at most 120" }' "$file")
  [ -z "$long" ] || complain "$long"
done < <(git ls-files '*.sh' '*.md' Makefile .ci/run | grep -vE '^docs/reference/(report|errors)\.md$')

exit $failed
