/**
 * Rolls out the demo's held-out tasks through the gateway, with the environment and the sampling seeds of the
 * evaluation. The client names only the agent, and the gateway routes. Prints the pass rate beside the evaluation's,
 * the router's regret and its reliability. Needs the state directory of a finished demo run. The last line is JSON.
 *
 *     node dist/bench/gateway-demo.js --home .whetstone [--agent examples/orders-desk/agent.yaml] [--tasks 420]
 *     [--concurrency 16]
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { evaluateTable } from '../activities/evaluate/evaluate-table';
import { outcomeSchema, pairOutcomes } from '../activities/evaluate/outcome-table';
import { runEpisode } from '../activities/rollout/episode';
import { deployedSettings, HttpModelClient, samplingSeed } from '../activities/rollout';
import { inParallel } from '../activities/in-parallel';
import { type Evaluation, routingRecordSchema } from '../contracts/artifacts/evaluation';
import type { RegistryVersion } from '../contracts/artifacts/registry';
import { routerChoiceSchema } from '../contracts/artifacts/router';
import type { Trajectory } from '../contracts/artifacts/trajectory';
import type { AgentSpec } from '../contracts/config/agent-spec';
import type { GatewayConfigInput } from '../contracts/config/gateway-config';
import { loadAgentSpec } from '../loaders/agent-spec';
import { gatewayArguments } from '../cli/supervisor/gateway-arguments';
import { openEnvironment } from '../sandbox';
import { layout, LocalStore, readRegistry } from '../store';
import { type HeldOutPlayed, heldOutPlayed } from './shared/held-out-played';
import { freePort, Processes, untilHealthy } from './shared/processes';

interface Options {
  home: string;
  agentPath: string;
  tasks: number;
  concurrency: number;
  /** Budget of the router's call in milliseconds. */
  routerMs: number;
}

const lines = (path: string): unknown[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as unknown);

/** The run's evaluation, computed again from its trajectories, because an older one may lack what is printed here. */
function evaluationOf(store: LocalStore, spec: AgentSpec, { runId, adapters }: RegistryVersion): Evaluation {
  const folder = store.localPath(layout.evaluation(runId));
  const files = readdirSync(folder);
  const names = ['base', 'routed', ...adapters.map(({ name }) => name)];
  const arms = names.map((name) => {
    const file = files.find((candidate) => candidate.startsWith(`arm-${name.replace(/[^A-Za-z0-9.-]+/g, '-')}-`));
    if (file === undefined) throw new Error(`${folder} has no trajectories of ${name}.`);
    return { name, outcomes: lines(join(folder, file)).map((line) => outcomeSchema.parse(line)) };
  });
  const routing = lines(join(folder, files.find((file) => file.startsWith('routing-')) ?? '')).map((line) =>
    routingRecordSchema.parse(line),
  );
  const choice = files.find((file) => file.startsWith('router-choice-'));
  const routerChoice =
    choice === undefined ? undefined : routerChoiceSchema.parse(JSON.parse(readFileSync(join(folder, choice), 'utf8')));
  return evaluateTable(pairOutcomes(arms, heldOutPlayed(store, runId, spec).trials), {
    capabilities: adapters.map(({ capabilityId: id, summary }) => ({ id, name: id, summary })),
    adapters: adapters.map((adapter) => adapter as never),
    routing,
    routerChoice,
    readsTags: spec.groundTruth !== undefined,
    bootstrapSamples: spec.evaluation.bootstrapSamples,
    confidence: spec.evaluation.confidence,
    seed: spec.seed,
  });
}

/** Episodes of all held-out tasks and trials through the gateway. */
async function rollOut(
  spec: AgentSpec,
  baseUrl: string,
  { agentPath, tasks, concurrency }: Options,
  { seeds, trials }: HeldOutPlayed,
): Promise<Trajectory[]> {
  const path = resolve(dirname(agentPath), spec.environment.path);
  const environment = await openEnvironment({ source: readFileSync(path, 'utf8'), trust: 'owner', name: path });
  const client = new HttpModelClient();
  const { tools, hasSay } = await environment.describe();
  const plans = seeds.slice(0, tasks).flatMap((seed) =>
    Array.from({ length: trials }, (_, trial) => ({
      seed,
      split: 'held-out' as const,
      trial,
      model: spec.name,
      samplingSeed: samplingSeed(spec.seed, seed, trial),
    })),
  );
  const settings = deployedSettings(spec);
  const found: Trajectory[] = [];
  const stop = new AbortController();
  try {
    await inParallel(plans, concurrency, { signal: stop.signal, stop }, async (plan) => {
      const chat: Parameters<typeof runEpisode>[1]['chat'] = (request) => client.chat({ ...request, baseUrl });
      found.push(
        await runEpisode(
          plan,
          { environment, chat, tools, hasSay, settings, toleratesFaults: false },
          `${plan.seed}-${plan.trial}`,
        ),
      );
    });
  } finally {
    await environment.close();
    await client.close();
  }
  return found;
}

const percent = (value: number) => `${(value * 100).toFixed(1)} %`;

function printTables({ base, bestSingle, routed, oracle, router }: Evaluation, gateway: number): void {
  console.log('\narm             pass rate   regret (to the oracle)');
  const rows: [string, number][] = [
    ['base', base.passRate.estimate],
    ['best single', bestSingle.passRate.estimate],
    ['routed', routed.passRate.estimate],
    ['gateway', gateway],
    ['oracle', oracle.passRate.estimate],
  ];
  for (const [name, rate] of rows)
    console.log(
      `${name.padEnd(14)} ${percent(rate).padStart(9)} ${percent(oracle.passRate.estimate - rate).padStart(12)}`,
    );
  if (router.choice?.reliability === undefined) return;
  const { right, error, steps } = router.choice.reliability;
  console.log(`\nrouter ${router.choice.chosen}: ${percent(right)} right, calibration error ${percent(error)}`);
  for (const step of steps) {
    console.log(
      `  ${step.from.toFixed(1)} to ${step.to.toFixed(1)}: ${String(step.tasks).padStart(4)} tasks, ` +
        `said ${percent(step.meanProbability)}, right ${percent(step.right)}`,
    );
  }
}

async function measure(options: Options): Promise<void> {
  const spec = loadAgentSpec(options.agentPath);
  const store = new LocalStore(join(options.home, 'store'));
  const registry = await readRegistry(store, spec.name);
  const version = registry.versions.find((candidate) => candidate.version === registry.active);
  if (version === undefined)
    throw new Error(`${spec.name} has no active version in ${options.home}: run the demo first (make demo).`);
  const evaluation = evaluationOf(store, spec, version);
  const models = join(options.home, 'models');
  const processes = new Processes();
  try {
    const [modelPort, port] = [await freePort(), await freePort()];
    const python = process.env['WHET_PYTHON'] || '.toolchain/venv/bin/python';
    const model = join(models, readdirSync(models)[0] ?? '');
    const server = [
      '-m',
      'whetstone.serve',
      '--model',
      model,
      '--port',
      String(modelPort),
      '--served-name',
      spec.model.name,
      '--adapters',
      join(options.home, 'store'),
    ];
    processes.start(python, server, { PYTHONPATH: 'trainer-image', HF_HUB_OFFLINE: '1' });
    await untilHealthy(`http://127.0.0.1:${modelPort}/healthz`, 120);
    const agent = {
      name: spec.name,
      baseModel: spec.model.name,
      replicas: [`http://127.0.0.1:${modelPort}/v1`],
      router: { timeoutMs: options.routerMs },
    };
    const config: GatewayConfigInput = { version: 1, port, agents: [agent] };
    const environment = {
      WHET_GATEWAY_CONFIG: JSON.stringify(config),
      WHET_HOME: options.home,
      WHET_LOG_LEVEL: 'warn',
    };
    processes.start(process.execPath, gatewayArguments(join(__dirname, '..')), environment);
    await untilHealthy(`http://127.0.0.1:${port}/readyz`, 60);
    const began = performance.now();
    const played = heldOutPlayed(store, version.runId, spec);
    const found = await rollOut(spec, `http://127.0.0.1:${port}/v1`, options, played);
    const seconds = (performance.now() - began) / 1000;
    const passRate = found.filter(({ success }) => success).length / found.length;
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    const decisions: Record<string, number> = {};
    for (const [, outcome, n] of metrics.matchAll(/whet_gateway_router_total\{.*outcome="([^"]+)"\} (\d+)/g))
      decisions[outcome as string] = Number(n);
    printTables(evaluation, passRate);
    const { routed, base, oracle } = evaluation;
    const share =
      (routed.passRate.estimate - base.passRate.estimate) / (oracle.passRate.estimate - base.passRate.estimate);
    console.log(`\n${found.length} episodes in ${seconds.toFixed(0)} s, decisions ${JSON.stringify(decisions)}`);
    console.log(
      JSON.stringify({
        name: 'gateway-demo',
        episodes: found.length,
        gatewayPassRate: Number(passRate.toFixed(4)),
        evaluationPassRate: routed.passRate,
        withinInterval: passRate >= routed.passRate.low && passRate <= routed.passRate.high,
        base: base.passRate.estimate,
        bestSingle: evaluation.bestSingle.passRate.estimate,
        oracle: oracle.passRate.estimate,
        shareOfOracleGain: Number(share.toFixed(3)),
        calibration: evaluation.router.calibration,
        decisions,
      }),
    );
  } finally {
    await processes.end();
  }
}

async function main(): Promise<void> {
  const string = (fallback: string) => ({ type: 'string', default: fallback }) as const;
  const { values } = parseArgs({
    options: {
      home: string('.whetstone'),
      agent: string('examples/orders-desk/agent.yaml'),
      tasks: string('1000000'),
      concurrency: string('16'),
      'router-ms': string('150'),
    },
  });
  await measure({
    home: resolve(values.home),
    agentPath: resolve(values.agent),
    tasks: Number(values.tasks),
    concurrency: Number(values.concurrency),
    routerMs: Number(values['router-ms']),
  });
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
