/**
 * `test/faults/kill [AGENT_YAML]`: one undisturbed run and one in which every kind of process gets SIGKILL in the
 * middle of its stage, each in a state directory of its own; then labels, kept capabilities, adapters and bills are
 * compared.
 */
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isGrpcServiceError } from '@temporalio/client';
import { type Agent, readAgent } from '../../cli/agent';
import { startRun } from '../../cli/commands/run';
import { createOutput, duration, table } from '../../cli/output';
import { readSettings, type Settings } from '../../cli/settings';
import { projectRoot } from '../../contracts/project-root';
import { readRunningSupervisorState } from '../../cli/supervisor/supervisor-state';
import { type Temporal, withTemporal } from '../../cli/temporal';
import { down, up } from '../../cli/up';
import { explainRun } from '../../cli/view/explain';
import { readReport } from '../../cli/view/report-text';
import { readRunState, type RunState } from '../../cli/view/run-state';
import { layout } from '../../store';
import { Killer, type KillRecord } from './killer';

/** Neither run may take longer. */
const LIMIT_MS = Number(process.env['WHET_FAULTS_LIMIT_SECONDS'] ?? 900) * 1_000;
/** An answer of the demo analyst takes this long, so that labelling has a middle in which something can be killed. */
const ANALYST_LATENCY_MS = '60';
const POLL_MS = 100;

interface AnalystStats {
  billedCalls: number;
}

interface Outcome {
  seconds: number;
  verdict: string;
  kept: string[];
  labels: string;
  trajectories: string;
  adapters: string[];
  stats: AnalystStats;
  kills: KillRecord[];
  restarts: string;
}

const out = createOutput(false, { write: (text: string) => process.stdout.write(text) });

/**
 * sha256 over the bytes of a run's artifacts `<stem>-<hash>.jsonl` in a folder of the store, in the order of their
 * names.
 */
function contentOf(settings: Settings, folder: string, stem: string): string {
  const directory = join(settings.storeRoot, folder);
  const files = readdirSync(directory)
    .filter((name) => name.startsWith(`${stem}-`) && name.endsWith('.jsonl'))
    .sort();
  if (files.length === 0) throw new Error(`There is no ${stem} artifact in ${directory}.`);
  const hash = createHash('sha256');
  for (const name of files) hash.update(readFileSync(join(directory, name)));
  return hash.digest('hex').slice(0, 12);
}

/** Follows the run to its end; between two looks the killer may strike, and the server may be away. */
async function untilEnded({ client }: Temporal, runId: string, killer: Killer | null): Promise<RunState> {
  const end = Date.now() + LIMIT_MS;
  for (;;) {
    if (Date.now() > end) throw new Error(`${runId} has not ended after ${LIMIT_MS / 1_000} s.`);
    try {
      const state = await readRunState(client, runId);
      if (state.status !== 'running') return state;
      if (state.progress?.waitingFor) throw new Error(`${runId} waits for a person. ${state.progress.waitingFor}`);
      killer?.look(state);
    } catch (error) {
      if (!isGrpcServiceError(error)) throw error;
    }
    await sleep(POLL_MS);
  }
}

async function runOnce(name: string, home: string, agent: Agent, killer: Killer | null): Promise<Outcome> {
  const settings = readSettings({ ...process.env, WHET_HOME: home });
  try {
    await up(settings, out, { agent, anyPort: true });
    return await withTemporal(settings, async (temporal) => {
      const began = Date.now();
      const runId = await startRun(temporal, agent, undefined, {}, null);
      out.line(`${name}: ${runId}`);
      const end = await untilEnded(temporal, runId, killer);
      const seconds = (Date.now() - began) / 1000;
      if (end.result === null) throw new Error(`${name}: ${explainRun(end).join(' ')}`);
      const report = await readReport(end.result.reportDirectory!);
      const services = readRunningSupervisorState(home)?.services ?? [];
      const analyst = services.find((s) => s.name === 'analyst')?.url;
      if (!analyst)
        throw new Error(
          'The demo analyst does not run: unset OPENAI_API_KEY and OPENAI_BASE_URL, so that bills can be counted.',
        );
      out.line(`${name}: ${end.result.verdict} after ${duration(seconds)}`);
      return {
        seconds,
        verdict: end.result.verdict,
        kept: report.identification.kept,
        labels: contentOf(settings, layout.labels(runId), 'labels'),
        trajectories: contentOf(settings, layout.trajectories(runId), 'collected'),
        adapters: report.sharpened.map((s) => `${s.capability.id} ${s.adapter?.sha256.slice(0, 12) ?? s.status}`),
        stats: (await (await fetch(`${analyst}/stats`)).json()) as AnalystStats,
        kills: killer?.records ?? [],
        restarts:
          services
            .filter((s) => s.restarts > 0)
            .map((s) => `${s.name} ${s.restarts}x`)
            .join(', ') || 'none',
      };
    });
  } finally {
    await down(settings, out);
  }
}

function compare(calm: Outcome, disturbed: Outcome): { text: string; problems: string[] } {
  const same = (what: string, a: string, b: string): string[] =>
    a === b ? [] : [`${what} differ: ${a} undisturbed, ${b} disturbed`];
  // Two trials that went the same way are two episodes with the same question, killed or not: what the kills cost is
  // the difference.
  const twice = disturbed.stats.billedCalls - calm.stats.billedCalls;
  const problems = [
    ...same('labels', calm.labels, disturbed.labels),
    ...same('kept capabilities', calm.kept.join(', '), disturbed.kept.join(', ')),
    ...same('adapters', calm.adapters.join(', '), disturbed.adapters.join(', ')),
    ...(twice === 0 ? [] : [`${twice} analyst calls were billed twice`]),
  ];
  const row = (what: string, value: (o: Outcome) => string) => [what, value(calm), value(disturbed)];
  const text = table([
    ['', 'undisturbed', 'disturbed'],
    row('verdict', (o) => o.verdict),
    row('trajectories (sha256)', (o) => o.trajectories),
    row('labels (sha256)', (o) => o.labels),
    row('kept capabilities', (o) => o.kept.join(', ')),
    row('adapters (sha256)', (o) => o.adapters.join(', ')),
    row('analyst calls billed', (o) => String(o.stats.billedCalls)),
    ['calls made twice because of a kill', '', String(twice)],
    row('services restarted', (o) => o.restarts),
    row('time', (o) => duration(o.seconds)),
  ]);
  return { text, problems };
}

async function main(): Promise<number> {
  const agent = readAgent(
    resolve(process.argv[2] ?? join(projectRoot(), 'examples', 'orders-desk', 'agent.tiny.yaml')),
  );
  const folder = mkdtempSync(join(tmpdir(), 'whet-faults-'));
  process.env['WHET_DEMO_ANALYST_LATENCY_MS'] = ANALYST_LATENCY_MS;
  const [calmHome, disturbedHome] = [join(folder, 'undisturbed'), join(folder, 'disturbed')];
  try {
    const calm = await runOnce('undisturbed', calmHome, agent, null);
    // The same base model, without making it again.
    if (existsSync(join(calmHome, 'models')))
      cpSync(join(calmHome, 'models'), join(disturbedHome, 'models'), { recursive: true });
    const killer = new Killer(disturbedHome, (line) => out.line(`disturbed: ${line}`));
    const disturbed = await runOnce('disturbed', disturbedHome, agent, killer);
    const { text, problems } = compare(calm, disturbed);
    const missed = killer.missed().map((victim) => `${victim} was not killed: its stage was over too soon`);
    console.log(
      `\n${table([['killed', 'in stage', 'at'], ...disturbed.kills.map((kill) => [kill.victim, kill.stage, kill.at])])}\n\n${text}\n`,
    );
    for (const problem of [...problems, ...missed]) console.log(problem);
    console.log(
      problems.length + missed.length === 0
        ? 'faults: same labels, same capabilities, nothing billed twice'
        : 'faults: FAILED',
    );
    return problems.length + missed.length === 0 ? 0 : 1;
  } finally {
    if (process.env['WHET_FAULTS_KEEP'] === undefined) rmSync(folder, { recursive: true, force: true });
    else console.log(`kept: ${folder}`);
  }
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(error instanceof Error ? (error.stack ?? error.message) : error);
    process.exit(1);
  },
);
