/**
 * Sends the first turn of every held-out task that a version was judged on through the gateway, for each version of the
 * registry, and compares the arm that the gateway gives the conversation with the arm that the evaluation gave the
 * task. Needs the state directory of a finished demo run, which stays as it is: the versions are made active in a copy
 * of its registry. The last line is JSON.
 *
 *     node dist/bench/gateway-arms.js --home .whetstone [--agent examples/orders-desk/agent.yaml] [--concurrency 8]
 */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { inParallel } from '../activities/in-parallel';
import { gatewayArguments } from '../cli/supervisor/gateway-arguments';
import { preparedSpecSchema } from '../contracts/artifacts/prepared-spec';
import type { RegistryVersion } from '../contracts/artifacts/registry';
import { reportSchema } from '../contracts/artifacts/report';
import type { ChatMessage } from '../contracts/artifacts/trajectory';
import type { AgentSpec } from '../contracts/config/agent-spec';
import type { GatewayConfigInput } from '../contracts/config/gateway-config';
import { loadAgentSpec } from '../loaders/agent-spec';
import { openEnvironment } from '../sandbox';
import { getJson, layout, LocalStore, promoteVersion, readRegistry } from '../store';
import { heldOutPlayed } from './shared/held-out-played';
import { freePort, Processes, untilHealthy } from './shared/processes';
import { artifactOf } from './worlds/finished-run';

/** Long enough for a loaded machine. In production a slow router means the base model, which is no question here. */
const ROUTER_MS = 30_000;

const playedSchema = z.object({ task: z.object({ seed: z.number() }), model: z.string() });

/** A home whose store is that of another one, but for its registry. */
function scratchHome(home: string): string {
  const scratch = mkdtempSync(join(tmpdir(), 'whet-gateway-arms-'));
  mkdirSync(join(scratch, 'store'));
  for (const name of readdirSync(join(home, 'store'))) {
    const [from, to] = [join(home, 'store', name), join(scratch, 'store', name)];
    if (name === 'registry') cpSync(from, to, { recursive: true });
    else symlinkSync(from, to);
  }
  return scratch;
}

/** The model that the evaluation of a version played each held-out task with: an adapter's name, or base. */
function playedBy(store: LocalStore, { runId }: RegistryVersion, base: string): Map<number, string> {
  const folder = store.localPath(layout.evaluation(runId));
  const file = readdirSync(folder).find((name) => name.startsWith('arm-routed-'));
  if (file === undefined) throw new Error(`${folder} has no rollouts of the candidate.`);
  const lines = readFileSync(join(folder, file), 'utf8').split('\n').filter(Boolean);
  const played = lines.map((line) => playedSchema.parse(JSON.parse(line)));
  return new Map(played.map(({ task, model }) => [task.seed, model === base ? 'base' : model]));
}

/** What each of these held-out tasks opens with. */
async function openings(
  spec: AgentSpec,
  agentPath: string,
  seeds: Iterable<number>,
): Promise<Map<number, ChatMessage[]>> {
  const path = resolve(dirname(agentPath), spec.environment.path);
  const environment = await openEnvironment({ source: readFileSync(path, 'utf8'), trust: 'owner', name: path });
  const found = new Map<number, ChatMessage[]>();
  try {
    for (const seed of seeds) {
      const { messages } = await environment.reset(`arms-${seed}`, seed);
      await environment.drop(`arms-${seed}`);
      found.set(seed, messages);
    }
  } finally {
    await environment.close();
  }
  return found;
}

/** The adapter that the gateway gives each task, from its header. */
async function throughGateway(
  url: string,
  { name }: AgentSpec,
  { version }: RegistryVersion,
  tasks: ReadonlyMap<number, ChatMessage[]>,
  concurrency: number,
): Promise<Map<number, string>> {
  const given = new Map<number, string>();
  const stop = new AbortController();
  await inParallel([...tasks], concurrency, { signal: stop.signal, stop }, async ([seed, messages]) => {
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-whet-conversation': `v${version}-${seed}` },
      body: JSON.stringify({ model: name, messages, max_tokens: 1 }),
    });
    await answer.text();
    if (!answer.ok) throw new Error(`Task ${seed}: the gateway answered with status ${answer.status}.`);
    const served = answer.headers.get('x-whet-version');
    if (served !== String(version)) throw new Error(`Task ${seed}: version ${served} was served, not ${version}.`);
    given.set(seed, answer.headers.get('x-whet-adapter') ?? '');
  });
  return given;
}

/** Resolves when the gateway serves this version and every one of its adapters is loaded. */
async function untilServed(url: string, { name }: AgentSpec, { version, adapters }: RegistryVersion): Promise<void> {
  for (let attempt = 0; attempt < 600; attempt++) {
    const models = await fetch(`${url}/v1/models`).then((answer) => answer.text());
    const probe = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-whet-conversation': `probe-${version}-${attempt}` },
      body: JSON.stringify({ model: name, messages: [{ role: 'user', content: 'hello' }], max_tokens: 1 }),
    });
    await probe.text();
    const isActive = probe.headers.get('x-whet-version') === String(version);
    if (isActive && adapters.every((adapter) => models.includes(adapter.name))) return;
    await new Promise((done) => setTimeout(done, 200));
  }
  throw new Error(`Version ${version} is not served after two minutes.`);
}

/** Directory of the base model that a version was trained on. */
async function baseModelOf(store: LocalStore, { runId }: RegistryVersion): Promise<string> {
  const path = store.localPath(`${layout.report(runId)}/report.json`);
  const report = reportSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  return (await getJson(store, artifactOf(report, 'spec of the agent'), preparedSpecSchema)).modelPath;
}

async function measure(home: string, agentPath: string, concurrency: number): Promise<void> {
  const spec = loadAgentSpec(agentPath);
  const scratch = scratchHome(home);
  const processes = new Processes();
  try {
    const store = new LocalStore(join(scratch, 'store'));
    const { versions } = await readRegistry(store, spec.name);
    if (versions.length === 0)
      throw new Error(`${spec.name} has no version in ${home}: run the demo first (make demo).`);
    const [modelPort, port] = [await freePort(), await freePort()];
    const modelPath = await baseModelOf(store, versions.at(-1)!);
    const model = ['--model', modelPath, '--served-name', spec.model.name];
    processes.start(
      process.env['WHET_PYTHON'] || '.toolchain/venv/bin/python',
      ['-m', 'whetstone.serve', ...model, '--port', String(modelPort), '--adapters', join(home, 'store')],
      { PYTHONPATH: 'trainer-image', HF_HUB_OFFLINE: '1' },
    );
    await untilHealthy(`http://127.0.0.1:${modelPort}/healthz`, 120);
    const replicas = [`http://127.0.0.1:${modelPort}/v1`];
    const agent = { name: spec.name, baseModel: spec.model.name, replicas, router: { timeoutMs: ROUTER_MS } };
    const config: GatewayConfigInput = { version: 1, port, agents: [agent] };
    processes.start(process.execPath, gatewayArguments(join(__dirname, '..')), {
      WHET_GATEWAY_CONFIG: JSON.stringify(config),
      WHET_HOME: scratch,
      WHET_STORE: join(scratch, 'store'),
      WHET_LOG_LEVEL: 'warn',
    });
    const url = `http://127.0.0.1:${port}`;
    await untilHealthy(`${url}/readyz`, 120);
    const judged = versions.map(({ runId }) => heldOutPlayed(store, runId, spec).seeds);
    const tasks = await openings(spec, agentPath, new Set(judged.flat()));
    const results: { version: number; router: string; tasks: number; same: number; toAdapters: number }[] = [];
    for (const [place, version] of versions.entries()) {
      const own = new Map(judged[place]!.map((seed) => [seed, tasks.get(seed)!]));
      await promoteVersion(store, spec.name, version.version);
      await untilServed(url, spec, version);
      const [played, given] = [
        playedBy(store, version, spec.model.name),
        await throughGateway(url, spec, version, own, concurrency),
      ];
      const seeds = [...given.keys()];
      const result = {
        version: version.version,
        router: version.judgedRouter?.kind ?? 'logits',
        tasks: seeds.length,
        same: seeds.filter((seed) => given.get(seed) === played.get(seed)).length,
        toAdapters: seeds.filter((seed) => given.get(seed) !== 'base').length,
      };
      console.log(
        `version ${result.version}, router ${result.router}: the same arm for ${result.same} of ${result.tasks} ` +
          `tasks, ${result.toAdapters} of them an adapter`,
      );
      results.push(result);
    }
    console.log(
      JSON.stringify({ name: 'gateway-arms', same: results.every((r) => r.same === r.tasks), versions: results }),
    );
  } finally {
    await processes.end();
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function main(): Promise<void> {
  const string = (fallback: string) => ({ type: 'string', default: fallback }) as const;
  const { values } = parseArgs({
    options: {
      home: string('.whetstone'),
      agent: string('examples/orders-desk/agent.yaml'),
      concurrency: string('8'),
    },
  });
  await measure(resolve(values.home), resolve(values.agent), Number(values.concurrency));
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
