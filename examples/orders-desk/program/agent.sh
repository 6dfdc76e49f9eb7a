#!/usr/bin/env bash
# The orders desk as a shell script with curl and jq (docs/reference/protocols.md, section 2c).
set -euo pipefail
coproc DESK { exec python3 "$(dirname "$0")/desk.py"; }

tell() { # asks the desk's tools
  printf '%s\n' "$1" >&"${DESK[1]}"
  IFS= read -r told <&"${DESK[0]}"
}

tell "$(jq -c '{reset: .seed}' "$TASK_FILE")"
tools=$(jq -c .tools <<<"$told")
messages=$(jq -c .messages <<<"$told")
finish=turn-limit
for ((turn = $(jq .max_turns "$TASK_FILE"); turn > 0; turn--)); do
  body=$(jq -cn --arg model "$OPENAI_MODEL" --argjson messages "$messages" --argjson tools "$tools" '$ARGS.named')
  answer=$(curl -sS --fail-with-body "$OPENAI_BASE_URL/chat/completions" -H "authorization: Bearer $OPENAI_API_KEY" \
    -H 'content-type: application/json' --data-binary @- <<<"$body" | jq -c '.choices[0].message')
  messages=$(jq -c --argjson answer "$answer" '. + [$answer]' <<<"$messages")
  observations='[]'
  finish=no-tool-call
  while IFS= read -r call; do
    tell "$(jq -c '{step: .function}' <<<"$call")"
    observations=$(jq -c --argjson told "$told" '. + [$told.observation]' <<<"$observations")
    messages=$(jq -c --argjson told "$told" --argjson call "$call" \
      '. + [{role: "tool", tool_call_id: $call.id, content: $told.observation}]' <<<"$messages")
    finish=turn-limit
    if [ "$(jq .done <<<"$told")" = true ]; then finish=done && break; fi
  done < <(jq -c '.tool_calls // [] | .[]' <<<"$answer")
  if [ "$finish" != turn-limit ]; then break; fi
done
tell "$(jq -cn --arg finish "$finish" --argjson observations "$observations" '{finish: $ARGS.named}')"
echo "$told"
