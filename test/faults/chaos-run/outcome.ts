import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LocalStore, readNights, readRegistry } from '../../../store';

/** What a run found, by part, in a form in which two runs of one seed are equal. */
export type Outcome = Record<string, string>;

/**
 * What may differ between two runs of one seed, wherever it stands in the report: times, and the hashes and sizes of
 * documents that hold a time or the run's id. Of those, the contents are compared instead.
 */
const MAY_DIFFER = new Set(['createdAt', 'seconds', 'key', 'ref', 'startedAt', 'endedAt']);

const shortHash = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex').slice(0, 12);

/** Reads what a run found from its store. */
export async function readOutcome(home: string, runId: string): Promise<Outcome> {
  const store = join(home, 'store');
  const run = join(store, 'runs', runId);
  const text = readFileSync(join(run, 'report', 'report.json'), 'utf8');
  const report = withoutTimes(JSON.parse(text.replaceAll(runId, 'RUN'))) as Record<string, unknown>;
  const { artifacts: _artifacts, analystUse: _use, stages, sharpened, identification, evaluation, ...others } = report;
  const { night, ...rest } = others;
  const outcome: Outcome = {
    stages: (stages as { name: string; status: string }[]).map(({ name, status }) => `${name} ${status}`).join(', '),
    trajectories: contents(join(run, 'trajectories'), runId),
    labels: contents(join(run, 'labels'), runId),
    identification: JSON.stringify(identification),
    arms: contents(join(run, 'evaluation'), runId),
    evaluation: JSON.stringify(evaluation),
    ...(await decisionsOf(home, report['agent'] as string, runId)),
    ...(night === undefined ? {} : nightOf(store, JSON.parse(text) as MeasuredReport, runId)),
  };
  for (const { capability, ...result } of sharpened as { capability: { id: string } }[])
    outcome[`sharpened ${capability.id}`] = JSON.stringify(result);
  for (const [name, value] of Object.entries(rest)) outcome[name] = JSON.stringify(value);
  return outcome;
}

interface MeasuredReport {
  night: { identification: { key: string } };
}

/** What a night decided, with the contents of what it identified: the hash of that document has the run's id in it. */
function nightOf(store: string, { night }: MeasuredReport, runId: string): Outcome {
  const { identification, ...decision } = night;
  const found = readFileSync(join(store, identification.key), 'utf8').replaceAll(runId, 'RUN');
  return { night: JSON.stringify(decision).replaceAll(runId, 'RUN'), servedIdentification: shortHash(found) };
}

/** What later nights go by: what this one decided and compared, and the version that it made. */
async function decisionsOf(home: string, agent: string, runId: string): Promise<Outcome> {
  const store = new LocalStore(join(home, 'store'));
  const { nights, comparisons } = await readNights(store, agent);
  const { active, versions } = await readRegistry(store, agent);
  const own = <T extends { runId: string }>(all: readonly T[]) => all.filter((one) => one.runId === runId);
  const shown = (value: unknown) => JSON.stringify(withoutTimes(value)).replaceAll(runId, 'RUN');
  return {
    nights: shown({ nights: own(nights), comparisons: own(comparisons) }),
    // The document of a router has the run's id in it, so its hash differs; how it decides is in the evaluation.
    promoted: shown(
      own(versions).map(({ judgedRouter: _, ...made }) => ({ ...made, isActive: made.version === active })),
    ),
  };
}

/** Analyst calls that the report of a run counts; null where it has no such count. */
export function callsInReport(home: string, runId: string): number | null {
  const path = join(home, 'store', 'runs', runId, 'report', 'report.json');
  const { analystUse } = JSON.parse(readFileSync(path, 'utf8')) as { analystUse?: { calls: Record<string, Use> } };
  return analystUse === undefined ? null : Object.values(analystUse.calls).reduce((sum, { calls }) => sum + calls, 0);
}

interface Use {
  calls: number;
}

/** The outcome without who paid for the labels: of two runs of one agent, one asks and the other reuses the answers. */
export function withoutCosts({ tokens: _tokens, identification = '{}', ...outcome }: Outcome): Outcome {
  const { calls: _calls, usage: _usage, ...found } = JSON.parse(identification) as Record<string, unknown>;
  return { ...outcome, identification: JSON.stringify(found) };
}

/** Names of the parts that differ, each with both values where they are short. */
export function differences(calm: Outcome, disturbed: Outcome): string[] {
  const parts = [...new Set([...Object.keys(calm), ...Object.keys(disturbed)])];
  return parts.flatMap((part) => {
    const [a, b] = [calm[part] ?? 'missing', disturbed[part] ?? 'missing'];
    if (a === b) return [];
    return [`${part}: ${around(a, b)} undisturbed, ${around(b, a)} disturbed`];
  });
}

/** The text from shortly before the first difference. */
function around(text: string, other: string): string {
  let at = 0;
  while (at < text.length && text[at] === other[at]) at++;
  return text.length <= 80 ? text : `…${text.slice(Math.max(0, at - 30), at + 50)}…`;
}

function withoutTimes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutTimes);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, part]) => (MAY_DIFFER.has(name) ? [] : [[name, withoutTimes(part)]])),
  );
}

/** Names without their hashes, and the hashes of the contents, of the artifacts in a folder. */
function contents(folder: string, runId: string): string {
  if (!existsSync(folder)) return 'none';
  return readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .sort()
    .map((name) => {
      const text = readFileSync(join(folder, name), 'utf8').replaceAll(runId, 'RUN');
      return `${name.replace(/-[0-9a-f]{12}\.jsonl$/, '')} ${shortHash(text)}`;
    })
    .join(', ');
}
