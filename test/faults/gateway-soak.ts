/**
 * The gateway under load while model servers are killed and versions change. Three fake model servers in processes of
 * their own, the real gateway in its own; conversations of two turns, half of them streamed. Checked: no request is
 * lost (a stream that had begun at a server which died ends with an error event, and is counted apart), no answer comes
 * from an adapter that was not wanted, memory stays flat. The last line is JSON; exit code 1 when a check fails.
 *
 *     test/faults/gateway-soak [--seconds 1800] [--rate 300] [--kill-every 20] [--switch-every 10]
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Agent } from 'undici';
import { freePort, startProcess, untilHealthy } from '../../bench/shared/processes';
import type { GatewayConfigInput } from '../../contracts/config/gateway-config';
import { gatewayArguments } from '../../cli/supervisor/gateway-arguments';
import { activateVersion, changeRegistry, layout, LocalStore, rollbackVersion } from '../../store';
import { adapterName, versionOf } from '../gateway/gateway-fixture';

const REPLICAS = 3;
const VERSIONS = [1, 2, 3];
const SKILLS = ['weigh', 'stamp'];
/** A promotion or rollback acts within this. */
const ACTS_WITHIN_MS = 1_000;

interface Options {
  seconds: number;
  rate: number;
  killEvery: number;
  switchEvery: number;
}

/** Which version was active when; the registry's own history. */
class Timeline {
  private readonly changes: { at: number; version: number }[] = [];

  set(version: number): void {
    this.changes.push({ at: performance.now(), version });
  }

  /** Versions that an answer may come from which was asked for and given between two times. */
  allowed(from: number, to: number): Set<number> {
    const begin = from - ACTS_WITHIN_MS;
    const inside = this.changes.filter(({ at }) => at > begin && at <= to).map(({ version }) => version);
    const before = this.changes.filter(({ at }) => at <= begin).at(-1)?.version;
    return new Set([...inside, ...(before === undefined ? [] : [before])]);
  }
}

const tally = { requests: 0, lost: 0, cutStreams: 0, wrongAdapter: 0, fallbacks: 0, kills: 0, switches: 0 };
const problems: string[] = [];

function problem(kind: 'lost' | 'wrongAdapter', text: string): void {
  tally[kind] += 1;
  if (problems.length < 20) problems.push(`${kind}: ${text}`);
}

async function ask(agent: Agent, origin: string, timeline: Timeline, index: number, turn: number): Promise<void> {
  const skill = SKILLS[index % SKILLS.length]!;
  const stream = index % 2 === 0;
  const messages = [
    { role: 'user', content: `need:${skill} ${index}` },
    ...(turn > 0
      ? [
          { role: 'assistant', content: 'hello' },
          { role: 'user', content: 'go on' },
        ]
      : []),
  ];
  const began = performance.now();
  tally.requests += 1;
  try {
    const { statusCode, headers, body } = await agent.request({
      origin,
      path: '/v1/chat/completions',
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-whet-conversation': `c-${index}` },
      body: JSON.stringify({ model: 'desk', messages, stream }),
    });
    const text = await body.text();
    if (statusCode !== 200) return problem('lost', `status ${statusCode} ${text.slice(0, 200)}`);
    const events = stream
      ? text
          .split('\n\n')
          .filter(Boolean)
          .map((event) => event.slice('data: '.length))
      : [text];
    if (events.some((event) => event.includes('"error"'))) {
      tally.cutStreams += 1;
      return;
    }
    if (stream && events.at(-1) !== '[DONE]')
      return problem('lost', 'a stream without its end and without an error event');
    const models = new Set(
      events.filter((event) => event !== '[DONE]').map((event) => (JSON.parse(event) as { model: string }).model),
    );
    const said = headers['x-whet-adapter'];
    const route = String(headers['x-whet-route']);
    if (said === 'base') {
      // Base is right only where the gateway says that it fell back.
      if (!/adapter-not-ready|adapter-failed|router-/.test(route))
        return problem('wrongAdapter', `base by route ${route}`);
      tally.fallbacks += 1;
      if ([...models].join() !== 'desk-base') problem('wrongAdapter', `${[...models].join()} answered for base`);
      return;
    }
    const wanted = [...timeline.allowed(began, performance.now())].map((version) => adapterName(skill, version));
    if ([...models].join() !== said || !wanted.includes(String(said))) {
      problem(
        'wrongAdapter',
        `${[...models].join()} answered, the header said ${String(said)}, allowed were ${wanted.join(', ')}`,
      );
    }
  } catch (error) {
    problem('lost', (error as Error).message);
  }
}

/** Resident memory of a process in MB. */
const residentMb = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
const median = (values: number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

async function soak({ seconds, rate, killEvery, switchEvery }: Options): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), 'whet-gateway-soak-'));
  const store = new LocalStore(join(folder, 'store'));
  await store.swapDocument(
    layout.registry('desk'),
    { agent: 'desk', active: 3, versions: VERSIONS.map((version) => versionOf(version, ...SKILLS)) },
    null,
  );
  const ports = await Promise.all(Array.from({ length: REPLICAS }, freePort));
  const startReplica = (port: number) =>
    startProcess(process.execPath, [join(__dirname, 'soak-replica.js'), String(port)]);
  const replicas: ChildProcess[] = ports.map(startReplica);
  const port = await freePort();
  const config: GatewayConfigInput = {
    version: 1,
    port,
    // The limit on remembered conversations is part of what keeps memory flat, so it must be reached in a short run
    // too.
    limits: { conversations: 5_000 },
    agents: [
      {
        name: 'desk',
        baseModel: 'desk-base',
        replicas: ports.map((p) => `http://127.0.0.1:${p}/v1`),
        router: { timeoutMs: 1_000 },
      },
    ],
  };
  const environment = { WHET_GATEWAY_CONFIG: JSON.stringify(config), WHET_HOME: folder, WHET_LOG_LEVEL: 'error' };
  const gateway = startProcess(process.execPath, gatewayArguments(join(__dirname, '..', '..')), environment);
  const agent = new Agent({ connections: 64 });
  const timeline = new Timeline();
  timeline.set(3);
  const memory: number[] = [];
  const timers: NodeJS.Timeout[] = [];
  try {
    const origin = `http://127.0.0.1:${port}`;
    await untilHealthy(`${origin}/readyz`, 30);
    const began = performance.now();
    const running = new Set<Promise<void>>();
    const every = (ms: number, action: () => void) => timers.push(setInterval(action, ms));
    every(killEvery * 1000, () => {
      const victim = tally.kills++ % REPLICAS;
      replicas[victim]!.kill('SIGKILL');
      setTimeout(() => (replicas[victim] = startReplica(ports[victim]!)), 500);
    });
    every(switchEvery * 1000, () => {
      const promote = tally.switches++ % 2 === 1;
      const change = promote
        ? changeRegistry(store, 'desk', (registry) => activateVersion(registry, 3))
        : changeRegistry(store, 'desk', rollbackVersion);
      void change.then(({ result }) => timeline.set(result as number));
    });
    every(1_000, () => memory.push(residentMb(gateway.pid!)));
    let sent = 0;
    while (performance.now() - began < seconds * 1000) {
      const due = Math.floor(((performance.now() - began) / 1000) * rate);
      for (; sent < due; sent++) {
        // Each conversation has a second turn, some hundred requests after its first.
        const turn = Math.floor(sent / 200) % 2;
        const conversation = Math.floor(sent / 400) * 200 + (sent % 200);
        const asked = ask(agent, origin, timeline, conversation, turn).finally(() => running.delete(asked));
        running.add(asked);
      }
      await sleep(5);
    }
    for (const timer of timers) clearInterval(timer);
    await Promise.all(running);
  } finally {
    for (const timer of timers) clearInterval(timer);
    gateway.kill('SIGTERM');
    if (gateway.exitCode === null) await once(gateway, 'exit');
    for (const replica of replicas) replica.kill('SIGKILL');
    await agent.close();
    await rm(folder, { recursive: true, force: true });
  }
  const quarter = Math.floor(memory.length / 4);
  const [early, late] = [median(memory.slice(quarter, 2 * quarter)), median(memory.slice(-quarter))];
  const isFlat = late <= early * 1.15 + 10;
  for (const text of problems) console.log(text);
  const passed = tally.lost === 0 && tally.wrongAdapter === 0 && isFlat;
  console.log(
    JSON.stringify({
      name: 'gateway-soak',
      seconds,
      rate,
      ...tally,
      earlyMb: Math.round(early),
      lateMb: Math.round(late),
      isFlat,
      passed,
    }),
  );
  return passed;
}

async function main(): Promise<void> {
  const string = (fallback: string) => ({ type: 'string', default: fallback }) as const;
  const { values } = parseArgs({
    options: { seconds: string('1800'), rate: string('300'), 'kill-every': string('20'), 'switch-every': string('10') },
  });
  const options = {
    seconds: Number(values.seconds),
    rate: Number(values.rate),
    killEvery: Number(values['kill-every']),
    switchEvery: Number(values['switch-every']),
  };
  for (const [name, value] of Object.entries(options))
    if (!(value > 0)) throw new RangeError(`${name} must be a number above 0.`);
  if (!(await soak(options))) process.exitCode = 1;
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
