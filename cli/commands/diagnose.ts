import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { pluralise } from '../../contracts/pluralise';
import { projectRoot } from '../../contracts/project-root';
import { tooFewConversations } from '../../contracts/too-few-conversations';
import { layout, LocalStore } from '../../store';
import { type Agent, readAgent } from '../agent';
import { requireAgentName } from '../agent-name';
import type { Context } from '../context';
import { readIngestedOf, sizeOf } from '../conversations';
import { agentOfFile, makeAgentFile } from '../diagnose/agent-file';
import { costText, requireAgreed } from '../diagnose/agreed-cost';
import { endEarlierRuns } from '../diagnose/other-runs';
import { hasRun, runIdOf } from '../diagnose/same-run';
import { CliError } from '../errors';
import { estimateRun, readLastCallSizes } from '../estimate';
import { withInterrupt } from '../foreground';
import { withHomeLock } from '../home-lock';
import { ownTerminal } from '../output';
import { demoAnalyst } from '../supervisor/plan';
import { withTemporal } from '../temporal';
import { down, up } from '../up';
import { followRun } from '../view/follow';
import { readReport, reportText } from '../view/report-text';
import type { RunState } from '../view/run-state';
import { ingestFiles, type IngestFlags, ingestText } from './ingest';
import { showEnd, startRun } from './run';

/** Flags of `whet diagnose`. */
export interface DiagnoseFlags extends Omit<IngestFlags, 'agent'> {
  agent?: string;
  /** `demo`, or the folder of an agent with a recorded analyst. */
  analyst?: string;
  yes?: boolean;
  maxUsd?: number;
}

/**
 * `whet diagnose FILES... [--agent NAME] [--analyst demo] [--yes] [--max-usd N]`: ingests conversations, says what a
 * diagnosis may cost, runs it with services of its own and shows what it found. The same command again continues its
 * run, or shows the result. One at a time in a state directory: another one would end its run, or lose its services.
 * @throws CliError (exit 2), before anything is started: without an analyst, with too few conversations, and where
 *   nobody agreed to the cost.
 */
export async function diagnoseCommand(context: Context, files: string[], flags: DiagnoseFlags): Promise<void> {
  const { agent: given, analyst } = flags;
  const name = given ?? agentOfFile(files[0] ?? '');
  if (name === null)
    throw new CliError(`--agent: has to be given, because ${files[0]} gives no name.`, { type: 'Cli.Usage' });
  requireAgentName(name);
  const analystOf = analyst === undefined ? undefined : recordedAnalyst(analyst);
  const lock = { purpose: 'diagnose', does: 'diagnoses conversations here' };
  await withHomeLock(context.settings, lock, context.out, () => diagnose(context, files, { name, analystOf, flags }));
}

async function diagnose(
  context: Context,
  files: string[],
  { name, analystOf, flags }: { name: string; analystOf: string | undefined; flags: DiagnoseFlags },
): Promise<void> {
  const { settings, out } = context;
  const { analyst: _, yes = false, maxUsd, ...ingestFlags } = flags;
  out.line(ingestText(name, await ingestFiles(context, files, { ...ingestFlags, agent: name })));
  const agent = readAgent(await makeAgentFile(settings.home, name));
  const store = new LocalStore(settings.storeRoot);
  const read = await readIngestedOf(store, agent.spec);
  if (read === null)
    throw new CliError(
      `${agent.path}: environment: has to be a set of conversations. For its tasks use \`whet run\`.`,
      {
        ...{ exitCode: 2, type: 'Spec.Invalid' },
      },
    );
  const { trajectories, counts } = read;
  const successes = trajectories.filter(({ success }) => success).length;
  const counted = { successes, failures: trajectories.length - successes, withoutOutcome: counts.withoutOutcome };
  const problem = tooFewConversations(counted, agent.spec.identify.minEachOutcome);
  if (problem !== null) throw new CliError(problem, { type: 'Diagnose.TooFew' });
  if (analystOf === undefined) requireAnalyst(context, agent);
  const runId = runIdOf(agent.spec, trajectories, analystOf ?? configuredAnalyst());
  const directory = store.localPath(layout.report(runId));
  if (existsSync(join(directory, 'report.json'))) return showReport(context, runId, directory);
  const last = await readLastCallSizes(store, name);
  const estimate = estimateRun(agent.spec, last, sizeOf(trajectories), 'identify');
  out.line();
  const judged = counts.conversations - counts.withoutOutcome;
  const which =
    judged > trajectories.length
      ? `those of the ${judged} with an outcome that began last (environment.most in ${agent.path})`
      : 'all that are stored and have an outcome';
  out.line(`diagnosing ${pluralise(trajectories.length, 'conversation')} of ${name}: ${which}`);
  out.line(analystOf === undefined ? costText(estimate) : 'The analyst replays recorded answers, which cost nothing.');
  if (analystOf === undefined) await requireAgreed(estimate, { yes, maxUsd }, agent.path, ownTerminal());
  const state = await runToEnd(context, agent, runId, analystOf);
  await showEnd(context, state);
  showPage(context, state.result?.reportDirectory ?? directory);
}

/** The agent.yaml whose recorded analyst `--analyst` names. @throws CliError (exit 2) if there is none. */
function recordedAnalyst(named: string): string {
  const root = projectRoot();
  const folder = named === 'demo' ? join(root, 'examples', 'orders-desk') : resolve(named);
  const path = join(folder, 'agent.yaml');
  if (demoAnalyst(path, root) !== null) return path;
  const where = join(folder, 'analyst');
  throw new CliError(`--analyst ${named}: ${where} has no recorded answers. Allowed: demo, or a folder with some.`, {
    type: 'Cli.Usage',
  });
}

/** The settings that decide which analyst a worker asks, where agent.yaml does not. */
const configuredAnalyst = () => ({
  baseUrl: process.env['OPENAI_BASE_URL'] || null,
  model: process.env['WHET_ANALYST_MODEL'] || null,
});

/** @throws CliError (exit 2) if a run would find no analyst, or would not know which model to ask. */
function requireAnalyst({ settings }: Context, { path, spec }: Agent): void {
  const hasEndpoint = settings.analystConfigured || spec.analyst.baseUrl !== undefined;
  const hasModel = spec.analyst.model !== undefined || configuredAnalyst().model !== null;
  if (hasEndpoint && hasModel) return;
  const missing = hasEndpoint
    ? `It is open which model to ask: set WHET_ANALYST_MODEL, or analyst.model in ${path}.`
    : 'There is no analyst: set OPENAI_API_KEY (of another provider also OPENAI_BASE_URL) and WHET_ANALYST_MODEL.';
  throw new CliError(`${missing} The conversations are stored. Without a key: --analyst demo.`, {
    type: 'Diagnose.NoAnalyst',
  });
}

/** Starts what is needed, starts or continues the run, and stops what was started. */
function runToEnd(context: Context, agent: Agent, runId: string, analystOf: string | undefined): Promise<RunState> {
  const { settings, out } = context;
  return withInterrupt(
    async (signal) => {
      let started = false;
      try {
        const services = await up(settings, out, { agent, analystOf, anyPort: true, ignoreOpenRuns: true, signal });
        started = services.started;
        return await withTemporal(settings, async (temporal) => {
          const goesOn = await hasRun(temporal.client, runId);
          await endEarlierRuns(temporal.client, agent, runId, out);
          if (!goesOn) await startRun(temporal, agent, undefined, { until: 'identify' }, null, runId);
          out.line(`${goesOn ? 'going on with run' : 'run'} ${runId}`);
          const state = await followRun(temporal.client, runId, out, signal);
          if (signal.aborted && state.status === 'running') throw interrupted(runId);
          return state;
        });
      } finally {
        if (started) await down(settings, out);
      }
    },
    ['SIGINT', 'SIGTERM'],
  );
}

const interrupted = (runId: string): CliError =>
  new CliError(`Interrupted; ${runId} is not lost: the same command goes on with it.`, {
    type: 'Diagnose.Interrupted',
  });

/** Shows a diagnosis that was made before. */
async function showReport(context: Context, runId: string, directory: string): Promise<void> {
  const report = await readReport(directory);
  const { verdict } = report;
  const result = { runId, verdict, reportDirectory: directory };
  context.out.result(result, `\n${runId} has diagnosed these conversations before.\n${reportText(report)}`);
  showPage(context, directory);
}

const showPage = ({ out }: Context, directory: string): void =>
  out.line(`open   ${pathToFileURL(`${directory}/report.html`).href}`);
