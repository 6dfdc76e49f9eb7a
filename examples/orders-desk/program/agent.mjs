// The orders desk as a program in Node, which asks for responses (docs/reference/protocols.md, section 2c).
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { json } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const desk = spawn('python3', [fileURLToPath(new URL('desk.py', import.meta.url))], {
  stdio: ['pipe', 'pipe', 'inherit'],
});
const lines = createInterface({ input: desk.stdout })[Symbol.asyncIterator]();

/** Asks the desk's tools. */
async function tell(request) {
  desk.stdin.write(`${JSON.stringify(request)}\n`);
  return JSON.parse((await lines.next()).value);
}

/** Asks the model; returns the items of its answer. */
async function ask(input, tools) {
  const { OPENAI_BASE_URL, OPENAI_API_KEY, OPENAI_MODEL: model } = process.env;
  const answer = await fetch(`${OPENAI_BASE_URL}/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${OPENAI_API_KEY}` },
    body: JSON.stringify({ model, input, tools }),
  });
  if (!answer.ok) throw new Error(await answer.text());
  return (await answer.json()).output;
}

const { seed, max_turns: mostTurns } = await json(process.stdin);
const { messages, tools } = await tell({ reset: seed });
const input = [...messages];
const functions = tools.map((tool) => ({ type: 'function', ...tool.function }));
let finish = 'turn-limit';
let observations = [];
for (let turn = 0; turn < mostTurns && finish === 'turn-limit'; turn++) {
  const output = await ask(input, functions);
  input.push(...output);
  observations = [];
  const calls = output.filter(({ type }) => type === 'function_call');
  if (calls.length === 0) finish = 'no-tool-call';
  for (const call of calls) {
    const { observation, done } = await tell({ step: { name: call.name, arguments: call.arguments } });
    observations.push(observation);
    input.push({ type: 'function_call_output', call_id: call.call_id, output: observation });
    if (done) finish = 'done';
    if (done) break;
  }
}
console.log(JSON.stringify(await tell({ finish: { finish, observations } })));
desk.stdin.end();
