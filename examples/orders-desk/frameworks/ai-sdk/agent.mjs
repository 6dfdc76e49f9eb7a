// The orders desk as an agent of the Vercel AI SDK, which asks for responses.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { json } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { openai } from '@ai-sdk/openai';
import { dynamicTool, isStepCount, jsonSchema, ToolLoopAgent } from 'ai';

const desk = spawn('python3', [fileURLToPath(new URL('../../program/desk.py', import.meta.url))], {
  stdio: ['pipe', 'pipe', 'inherit'],
});
const lines = createInterface({ input: desk.stdout })[Symbol.asyncIterator]();

/** Asks the desk's tools. */
async function tell(request) {
  desk.stdin.write(`${JSON.stringify(request)}\n`);
  return JSON.parse((await lines.next()).value);
}

let isDone = false;
const toolOf = ({ name, description, parameters }) =>
  dynamicTool({
    description,
    inputSchema: jsonSchema(parameters),
    execute: async (input) => {
      const { observation, done } = await tell({ step: { name, arguments: JSON.stringify(input) } });
      isDone ||= done;
      return observation;
    },
  });

const { seed, max_turns: mostTurns } = await json(process.stdin);
const { messages, tools } = await tell({ reset: seed });
const [policy, customer] = messages;
const agent = new ToolLoopAgent({
  model: openai(process.env.OPENAI_MODEL),
  instructions: policy.content,
  tools: Object.fromEntries(tools.map(({ function: tool }) => [tool.name, toolOf(tool)])),
  stopWhen: [isStepCount(2 * mostTurns), () => isDone],
  // The capture endpoint keeps no answers.
  providerOptions: { openai: { store: false } },
});
const asked = { prompt: customer.content };
const answer = process.argv.includes('--stream') ? await agent.stream(asked) : await agent.generate(asked);
const steps = await answer.steps;
const observations = steps.at(-1).toolResults.map(({ output }) => output);
console.log(JSON.stringify(await tell({ finish: { finish: isDone ? 'done' : 'no-tool-call', observations } })));
desk.stdin.end();
