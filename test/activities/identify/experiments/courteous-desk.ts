import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { preparedSpecSchema } from '../../../../contracts/artifacts/prepared-spec';
import type { AgentSpecInput } from '../../../../contracts/config/agent-spec';
import type { EnvironmentCall } from '../../../../contracts/messages/environment-protocol';
import type { RunContext } from '../../../../contracts/messages/run-context';
import { getJson, layout, putJson } from '../../../../store';
import type { FakeAnswer, WireRequest } from '../../../fakes/policy-server';
import type { RunFixture } from '../../run-fixture';

const SOURCE = join(__dirname, '../../../../examples/orders-desk/environment.py');
const VERIFY = '                    call("verify_user", name=customer["name"], code=customer["code"])\n';

/** Tasks of the desk, and its solution of each. */
export type Solutions = ReadonlyMap<number, readonly EnvironmentCall[]>;

/**
 * A run at the orders desk, whose solutions also look a customer up before they verify them. The policy of such a desk
 * may ask for it; the reward does not.
 */
export async function courteousDesk(fixture: RunFixture, modelUrl: string, spec: Partial<AgentSpecInput>) {
  const source = readFileSync(SOURCE, 'utf8').replace(
    VERIFY,
    `                    call("find_user", name=customer["name"])\n${VERIFY}`,
  );
  const environmentPath = join(fixture.folder, 'desk.py');
  writeFileSync(environmentPath, source);
  const context = await fixture.prepare(modelUrl, {
    ...spec,
    environment: {
      path: 'parcel_desk.py',
      trainSeeds: { start: 0, count: 300 },
      heldOutSeeds: { start: 1_000_000, count: 10 },
      maxTurns: 12,
    },
  });
  const prepared = await getJson(fixture.store, context.spec, preparedSpecSchema);
  prepared.environmentPath = environmentPath;
  prepared.environmentSha256 = createHash('sha256').update(source).digest('hex');
  const changed: RunContext = {
    ...context,
    spec: await putJson(fixture.store, layout.run(context.runId), 'spec.json', prepared),
  };
  const desk = await fixture.deps.openEnvironment({ source, trust: 'owner', name: 'desk', agent: 'desk' });
  const solutions = new Map<number, EnvironmentCall[]>();
  const openings = new Map<string, number>();
  for (let seed = 0; seed < 300; seed++) {
    const { messages } = await desk.reset(`read-${seed}`, seed);
    await desk.drop(`read-${seed}`);
    openings.set(messages.at(-1)!.content, seed);
    solutions.set(seed, (await desk.reference(seed)) as EnvironmentCall[]);
  }
  await desk.close();
  return { context: changed, prepared, solutions, openings };
}

/** Whether an agent is careless in a task: in three of five. */
export const isCareless = (task: number): boolean => task % 5 < 3;

/**
 * An agent that makes the calls of the solution in their order. In careless tasks it leaves out looking a customer up
 * and verifying them, always both. Now and then it answers with nonsense.
 */
export function carelessAgent({
  solutions,
  openings,
}: {
  solutions: Solutions;
  openings: ReadonlyMap<string, number>;
}): (request: WireRequest) => FakeAnswer {
  return ({ messages, seed }) => {
    const task = openings.get(messages.find(({ role }) => role === 'user')!.content ?? '')!;
    const made = (messages as { tool_calls?: { function: { name: string; arguments: string } }[] }[])
      .flatMap(({ tool_calls: calls }) => calls ?? [])
      .map(({ function: { name, arguments: text } }) => `${name} ${JSON.stringify(JSON.parse(text))}`);
    const steps = solutions.get(task)!;
    const leftOut = isCareless(task) && steps.some(({ name }) => name === 'verify_user');
    for (const call of steps) {
      const at = made.indexOf(`${call.name} ${JSON.stringify(call.arguments)}`);
      if (at >= 0) made.splice(at, 1);
      else if (call.name === 'reply' && (Math.imul(seed, 2654435761) >>> 0) / 2 ** 32 < 0.1)
        return { calls: [{ name: 'reply', arguments: { text: 'nonsense' } }] };
      else if (!leftOut || !['find_user', 'verify_user'].includes(call.name)) return { calls: [call] };
    }
    return { content: 'bye' };
  };
}
