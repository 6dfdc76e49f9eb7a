/**
 * A model that a server has already plays tasks of tau2-bench, and a run says which capabilities it lacks. The user is
 * a script that tells its instructions, the analyst's answers are recorded as rules (tau2-model/analyst). Meant for a
 * real model that calls tools: `scripts/real-model.sh 1.5b`. Nothing is trained. The last line is JSON.
 *
 *     node dist/bench/tau2-model.js --model NAME --model-path DIR [--url http://127.0.0.1:8000/v1]
 *       [--domains airline,retail] [--tasks 10] [--trials 2] [--concurrency 3] [--minutes 40] [--venv DIR] [--home DIR]
 *
 * A finished run of a domain is kept in HOME and not made again.
 */
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { table } from '../cli/output';
import { projectRoot } from '../contracts/project-root';
import { loadAgentSpec } from '../loaders/agent-spec';
import { ownerEnvironment } from '../loaders/owner-environment';
import { jsonLines, venvOf } from './shared/scripted-rollouts';
import { finishedRun } from './worlds/finished-run';

interface Options {
  model: { name: string; path: string; baseUrl: string };
  /** Train tasks of a domain. */
  tasks: number;
  trials: number;
  concurrency: number;
  minutes: number;
  venv: string;
  home: string;
}

/** Held-out tasks, which no run without training plays. */
const HELD_OUT = 2;

const isTrain = ({ split }: { split: string }): boolean => split === 'train';

/** Writes the agent of a domain, with the rules of its analyst and the operator's leave; returns its path. */
function writeAgent(domain: string, options: Options): string {
  const { model, venv, trials, concurrency } = options;
  const folder = join(options.home, domain, 'agent');
  mkdirSync(folder, { recursive: true });
  cpSync(join(projectRoot(), 'bench', 'tau2-model', 'analyst'), join(folder, 'analyst'), { recursive: true });
  const path = join(folder, 'agent.yaml');
  const user = { script: 'tells' };
  // Steps wait for the model, which takes seconds for an answer.
  const environment = { kind: 'tau2', venv, domain, user, maxTurns: 20, seconds: { episode: 7200 } };
  const agent = {
    ...{ version: 1, name: `tau2-${domain}`, environment },
    model: { ...model, temperature: 0.7, timeoutSeconds: 900 },
    collect: { trials, concurrency },
    // Twenty tasks show what is frequent, and nothing else.
    identify: { minEachOutcome: 3 },
    synthesis: { onRejected: 'skip' },
  };
  // JSON is YAML.
  writeFileSync(path, JSON.stringify(agent));
  const listed = jsonLines(join(projectRoot(), 'whet'), ['env', 'tasks', path]) as { split: string }[];
  const tasks = [
    ...listed.filter(isTrain).slice(0, options.tasks),
    ...listed.filter((task) => !isTrain(task)).slice(0, HELD_OUT),
  ];
  writeFileSync(join(folder, 'tasks.jsonl'), tasks.map((task) => `${JSON.stringify(task)}\n`).join(''));
  const { source } = ownerEnvironment(loadAgentSpec(path), path);
  if (!('launch' in source)) throw new Error(`${path} has no command.`);
  const allowed = { commands: [source.launch.command.join(' ')], folders: [venv] };
  writeFileSync(join(folder, '..', 'policy.yaml'), JSON.stringify({ agents: { [agent.name]: allowed } }));
  return path;
}

async function measure(domain: string, options: Options) {
  const agentPath = writeAgent(domain, options);
  process.env['WHET_POLICY'] = join(options.home, domain, 'policy.yaml');
  const place = { agentPath, home: join(options.home, domain, 'state'), seed: 1, minutes: options.minutes };
  const { report } = await finishedRun(place);
  const { collect, identification, verdict, stages } = report;
  const names = new Map(identification.candidates.map(({ id, name }) => [id, name]));
  const rate = (value: number | null) => (value === null ? '–' : value.toFixed(2));
  const rows = identification.contrasts.map((found) => [
    ...[names.get(found.capabilityId)!, rate(found.errorRateFailure), rate(found.errorRateSuccess)],
    ...[rate(found.gap), rate(found.coverage), found.reason],
  ]);
  console.log(
    `\n${domain}: ${JSON.stringify(collect)}\n${table([['', 'ER-', 'ER+', 'gap', 'coverage', ''], ...rows])}`,
  );
  const stage = stages.find(({ name }) => name === 'collect')!;
  return { verdict, ...collect, collectSeconds: Math.round(stage.seconds), kept: identification.kept };
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      model: { type: 'string' },
      'model-path': { type: 'string' },
      url: { type: 'string', default: 'http://127.0.0.1:8000/v1' },
      domains: { type: 'string', default: 'airline,retail' },
      tasks: { type: 'string', default: '10' },
      trials: { type: 'string', default: '2' },
      concurrency: { type: 'string', default: '3' },
      minutes: { type: 'string', default: '40' },
      venv: { type: 'string' },
      home: { type: 'string', default: join(projectRoot(), '.whetstone', 'tau2-model') },
    },
  });
  const { model: name, 'model-path': path } = values;
  if (name === undefined || path === undefined) throw new Error('Name the model: --model NAME --model-path DIR.');
  const options: Options = {
    model: { name, path: resolve(path), baseUrl: values.url },
    ...{ tasks: Number(values.tasks), trials: Number(values.trials) },
    ...{ concurrency: Number(values.concurrency), minutes: Number(values.minutes) },
    ...{ venv: venvOf('tau2', values.venv), home: resolve(values.home) },
  };
  const domains: Record<string, unknown> = {};
  for (const domain of values.domains.split(',')) domains[domain] = await measure(domain, options);
  console.log(JSON.stringify({ name: 'tau2-model', model: name, domains }));
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
