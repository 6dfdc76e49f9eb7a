/** A finished run of a world: started with `whet demo`, or found in its state directory. */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import { preparedSpecSchema, type PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import { type Report, reportSchema } from '../../contracts/artifacts/report';
import { projectRoot } from '../../contracts/project-root';
import { MIXED } from '../../contracts/names';
import type { RunContext } from '../../contracts/messages/run-context';
import type { TrainedAdapter } from '../../contracts/artifacts/training';
import { getJson, LocalStore } from '../../store';

/** Variables that would set another analyst than the world's own. */
const OTHER_ANALYST = ['OPENAI_API_KEY', 'OPENAI_BASE_URL', 'WHET_ANALYST_MODEL'];

/** A finished run with its store. */
export interface FinishedRun {
  store: LocalStore;
  report: Report;
  context: RunContext;
  prepared: PreparedSpec;
}

/** A world, and where its runs are kept. */
interface WorldPlace {
  agentPath: string;
  /** State directory. */
  home: string;
  seed: number;
  /** Longest time of a run. */
  minutes: number;
  /** Address of another analyst than the agent's own, and its model. */
  analyst?: { baseUrl: string; model: string };
}

/**
 * The run of a world and seed: the one in its state directory, else a new one.
 * @throws Error when the run ends without a report, with the place of its output.
 */
export async function finishedRun(place: WorldPlace): Promise<FinishedRun> {
  const found = reportsIn(place).at(-1);
  if (found !== undefined) return openRun(place, found);
  mkdirSync(place.home, { recursive: true });
  const log = join(place.home, 'demo.log');
  const output = openSync(log, 'a');
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !OTHER_ANALYST.includes(name)));
  const demo = spawn(join(projectRoot(), 'whet'), ['demo', place.agentPath, '--seed', String(place.seed)], {
    env: { ...inherited, WHET_HOME: place.home, ...analystVariables(place) },
    stdio: ['ignore', output, output],
  });
  // A run may wait for a person; here is none. The signal makes `whet demo` stop what it started.
  const limit = setTimeout(() => demo.kill('SIGTERM'), place.minutes * 60_000);
  const code = await new Promise((resolve) => demo.once('close', resolve));
  clearTimeout(limit);
  const report = reportsIn(place).at(-1);
  if (report === undefined)
    throw new Error(
      `The run of ${place.agentPath} ended with code ${String(code)} and without a report within ${place.minutes} ` +
        `minutes; ${log} says how far it came.`,
    );
  return openRun(place, report);
}

const analystVariables = ({ analyst }: WorldPlace): NodeJS.ProcessEnv =>
  analyst === undefined ? {} : { OPENAI_BASE_URL: analyst.baseUrl, WHET_ANALYST_MODEL: analyst.model };

/** The newest finished run of a seed in a state directory, or null. */
export async function storedRun(place: Pick<WorldPlace, 'home' | 'seed'>): Promise<FinishedRun | null> {
  const found = reportsIn(place).at(-1);
  return found === undefined ? null : openRun(place, found);
}

/** Paths of the reports of this seed, the oldest first. */
function reportsIn({ home, seed }: Pick<WorldPlace, 'home' | 'seed'>): string[] {
  const runs = join(home, 'store', 'runs');
  if (!existsSync(runs)) return [];
  return readdirSync(runs)
    .sort()
    .map((run) => join(runs, run, 'report', 'report.json'))
    .filter((path) => existsSync(path) && (JSON.parse(readFileSync(path, 'utf8')) as Report).seed === seed);
}

async function openRun({ home }: Pick<WorldPlace, 'home'>, path: string): Promise<FinishedRun> {
  const store = new LocalStore(join(home, 'store'));
  const report = reportSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  const { runId, agent, seed } = report;
  const spec = artifactOf(report, 'spec of the agent');
  return {
    store,
    report,
    context: { runId, agent, spec, seed },
    prepared: await getJson(store, spec, preparedSpecSchema),
  };
}

/** The artifact of a run that has a role. @throws Error without one. */
export function artifactOf({ artifacts, runId }: Pick<Report, 'artifacts' | 'runId'>, role: string): ArtifactRef {
  const found = artifacts.find((artifact) => artifact.role === role);
  if (found === undefined) throw new Error(`The report of ${runId} has no artifact with the role "${role}".`);
  return found.ref;
}

/** The adapters of a run, one for each capability, and the mixed one where it was trained. */
export function adaptersOf({ sharpened, mixed, ...report }: Report): {
  adapters: TrainedAdapter[];
  mixed: TrainedAdapter[];
} {
  const stored = (
    capabilityId: string,
    { name, key, sha256, rollouts, seconds, curve }: NonNullable<typeof mixed>,
  ) => ({
    ...{ name, capabilityId, key, sha256, rollouts, seconds },
    manifest: artifactOf(report, `training manifest of ${capabilityId}`),
    finalReward: curve.at(-1)?.reward ?? 0,
  });
  return {
    adapters: sharpened.flatMap(({ capability: { id }, adapter }) => (adapter === null ? [] : [stored(id, adapter)])),
    mixed: mixed ? [stored(MIXED, mixed)] : [],
  };
}
