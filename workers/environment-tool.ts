/**
 * Entry point of `whet env check` and `whet env run`, which need the jail and so are no client code:
 *
 *     node dist/workers/environment-tool.js check FILE AGENT_YAML | play FILE SEED [--reference]
 *
 * Each line on standard output is a JSON document with `type`: check, certificate, opening, observation, end, error.
 * `play` reads moves from standard input, a JSON document a line: {"name", "arguments"} or {"text"}.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { certificateOf } from '../activities/environment-checks/certificate';
import { certify } from '../activities/environment-checks/check-environment';
import { readTargetProfile } from '../activities/environment-checks/target-profile';
import { environmentCallSchema } from '../contracts/messages/environment-protocol';
import { loadAgentSpec } from '../loaders/agent-spec';
import { isUnsafeAllowed, openEnvironment, SandboxError } from '../sandbox';

const say = (document: object): void => void process.stdout.write(`${JSON.stringify(document)}\n`);

/** Exit code 0: it passed. 1: a check failed. */
async function check(file: string, agentPath: string): Promise<number> {
  const spec = loadAgentSpec(agentPath);
  const source = readFileSync(file, 'utf8');
  const ownerPath = resolve(dirname(agentPath), spec.environment.path);
  const owner = { source: readFileSync(ownerPath, 'utf8'), trust: 'owner' as const, name: ownerPath };
  const target = await readTargetProfile({
    openEnvironment,
    environment: owner,
    spec: spec.environment,
    signal: new AbortController().signal,
  });
  const environment = { source, trust: 'synthesised' as const, name: file };
  const validation = await certify({
    openEnvironment,
    environment,
    target,
    settings: spec.certificate,
    onCheck: (found, done, total) => say({ type: 'check', done, total, check: found }),
  });
  const sha256 = createHash('sha256').update(source).digest('hex');
  const facts = {
    capability: file,
    source: { sha256, bytes: Buffer.byteLength(source) },
    isolation: isUnsafeAllowed() ? 'unsafe' : 'jail',
    settings: spec.certificate,
  };
  say({ type: 'certificate', certificate: certificateOf(facts, validation) });
  return validation.passed ? 0 : 1;
}

/** One episode: the reference solution, or the moves of standard input. */
async function play(file: string, seed: number, reference: boolean): Promise<number> {
  const environment = await openEnvironment({ source: readFileSync(file, 'utf8'), trust: 'synthesised', name: file });
  try {
    const { tools } = await environment.describe();
    const { messages } = await environment.reset('play', seed);
    say({ type: 'opening', seed, tools, messages });
    const moves = reference
      ? (await environment.reference(seed)).map((call) => JSON.stringify(call))
      : createInterface({ input: process.stdin });
    for await (const line of moves) {
      if (line.trim() === '') continue;
      const step = await makeMove(environment, line);
      if (step === null) continue;
      say({
        type: 'observation',
        move: JSON.parse(line) as unknown,
        observation: step.observations[0] ?? '',
        done: step.done,
      });
      if (step.done) break;
    }
    const { reward } = await environment.evaluate('play');
    say({ type: 'end', seed, reward });
    return 0;
  } finally {
    await environment.close();
  }
}

async function makeMove(environment: Awaited<ReturnType<typeof openEnvironment>>, line: string) {
  let move: unknown;
  try {
    move = JSON.parse(line);
  } catch (error) {
    say({ type: 'error', message: `That is no JSON: ${(error as Error).message}` });
    return null;
  }
  const text = (move as { text?: unknown } | null)?.text;
  if (typeof text === 'string') return environment.say('play', text);
  const call = environmentCallSchema.safeParse(move);
  if (call.success) return environment.step('play', [call.data]);
  say({ type: 'error', message: 'A move is {"name": "...", "arguments": {...}} or {"text": "..."}.' });
  return null;
}

async function main([command, file = '', ...rest]: string[]): Promise<number> {
  if (command === 'check') return check(file, rest[0] ?? '');
  return play(file, Number(rest[0]), rest.includes('--reference'));
}

main(process.argv.slice(2)).then(
  (code) => (process.exitCode = code),
  (error: unknown) => {
    say({
      type: 'error',
      message: error instanceof Error ? error.message : String(error),
      failure: error instanceof SandboxError ? error.type : 'Env.Failed',
    });
    process.exitCode = 3;
  },
);
