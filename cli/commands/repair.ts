import type { Client } from '@temporalio/client';
import { LocalStore } from '../../store';
import type { Context } from '../context';
import { table } from '../output';
import { ownerFileProblems } from '../repair/owner-files';
import { type PlannedStep, planRepair, type RepairPlan } from '../repair/repair-plan';
import { REPEATABLE } from '../repair/repeatable';
import { type Examination, examineRun, inMegabytes, type RepairedArtifact, repairRun } from '../repair/repair-run';
import type { RunArtifact } from '../repair/run-artifacts';
import { withTemporal } from '../temporal';
import { activityView } from '../view/activities';
import { readRunState, type RunState } from '../view/run-state';
import { retryWaits } from '../view/waits';

/** Flags of `whet repair`. */
export interface RepairFlags {
  dryRun?: boolean;
  yes?: boolean;
}

/**
 * `whet repair RUN [--dry-run] [--yes]`: checks every artifact of a run against its hash, makes damaged and missing
 * ones again, and continues a run that waits for them. Exit code 1 if something remains damaged.
 */
export async function repairCommand(
  { settings, out }: Context,
  runId: string,
  { dryRun = false, yes = false }: RepairFlags,
): Promise<void> {
  const store = new LocalStore(settings.storeRoot);
  await withTemporal(settings, async ({ client }) => {
    const state = await readRunState(client, runId);
    const examination = await examineRun(client, store, runId, out);
    const { artifacts, adapters, bytes } = examination;
    const plan = await planRepair(
      store,
      examination,
      examination.damaged.map(({ artifact }) => artifact),
    );
    const damaged = damagedRows(examination, plan);
    out.line(foundText(runId, examination, damaged));
    if (!yes) out.line(paymentText(runId, plan));
    const isMade = !dryRun && damaged.length > 0;
    const options = { client, store, out, runId, agent: state.agent, mayAskAnalyst: yes };
    const repaired = isMade ? await repairRun(options, examination) : [];
    const lost = dryRun ? damaged.map(({ key }) => key) : repaired.flatMap((one) => (one.repaired ? [] : [one.key]));
    const ownerFiles = await ownerFileProblems(store, examination.spec);
    const resumed = dryRun ? [] : await resume(client, state, lost);
    const next = nextLines(state, damaged.length > 0, lost, resumed, dryRun);
    out.result(
      { runId, status: state.status, artifacts, adapters, bytes, damaged, repaired, ownerFiles, resumed },
      [...repaired.map(repairedLine), ...ownerFiles, ...next].join('\n'),
    );
    if (lost.length > 0) process.exitCode = 1;
  });
}

/** A damaged artifact as the command lists it. */
interface DamagedRow {
  key: string;
  state: string;
  bytes: number | null;
  /** Stage and activity; null if no activity of the run made it. */
  madeBy: string | null;
  /** The steps that make it again, or the reason why that is impossible. */
  repair: string;
  /** Whether an answer must be paid again. */
  paidAgain: boolean;
}

function damagedRows({ damaged }: Examination, plan: RepairPlan): DamagedRow[] {
  return damaged.map(({ artifact, state }) => {
    const { wanted, origin } = artifact;
    const step = plan.steps.find(({ artifacts }) => artifacts.includes(artifact));
    return {
      key: wanted.key,
      state,
      bytes: wanted.kind === 'artifact' ? wanted.bytes : null,
      madeBy:
        origin.kind === 'activity'
          ? `${activityView(origin.activity.activity).stage ?? '?'}: ${origin.activity.activity}`
          : null,
      repair: step === undefined ? hopelessOf(plan, artifact) : takes(step),
      paidAgain: step?.asksAgain ?? false,
    };
  });
}

const hopelessOf = ({ hopeless }: RepairPlan, artifact: RunArtifact): string =>
  hopeless.find((one) => one.artifact === artifact)?.reason ?? '';

const takes = ({ activity, asksAgain }: PlannedStep): string =>
  asksAgain
    ? 'a new answer of the analyst, paid again: its recorded answer is gone'
    : `from ${REPEATABLE[activity.activity]?.takes ?? 'its inputs'}`;

function foundText(runId: string, { artifacts, adapters, bytes }: Examination, damaged: readonly DamagedRow[]): string {
  const checked =
    `${runId}: ${artifacts} artifacts (${inMegabytes(bytes)}) and ${adapters} adapters were compared with ` +
    'their hashes';
  if (damaged.length === 0) return `${checked}. All are as the run left them.`;
  const rows = damaged.map(({ state, key, madeBy, repair }) => [state, key, madeBy ?? '', repair]);
  const list = table([['', 'key', 'made by', 'made again'], ...rows]);
  return `${checked}. ${damaged.length} are not as the run left them:\n${list}`;
}

/** The steps that are left out without --yes; empty if nothing must be paid again. */
function paymentText(runId: string, { steps }: RepairPlan): string {
  const paid = steps.filter(({ asksAgain }) => asksAgain).length;
  if (paid === 0) return '';
  return (
    `${paid} of the steps must ask the analyst again, because answers that were paid for are gone. These steps are ` +
    `left out unless you allow them: whet repair ${runId} --yes. The new answers count in the run's budget.`
  );
}

const repairedLine = (one: RepairedArtifact): string =>
  one.repaired ? `repaired      ${one.key}: ${one.how}` : `not repaired  ${one.key}: ${one.reason}`;

/** Retries the parts of the run that wait for an artifact, except for an artifact that could not be repaired. */
async function resume(client: Client, state: RunState, lost: readonly string[]): Promise<string[]> {
  if (state.status !== 'running') return [];
  const isCured = (reason: string) => reason.startsWith('Store.') && !lost.some((key) => reason.includes(key));
  return retryWaits(client, state, isCured);
}

/** The next steps for the user, one sentence each. */
function nextLines(
  { runId, status, agent }: RunState,
  wasDamaged: boolean,
  lost: readonly string[],
  resumed: readonly string[],
  dryRun: boolean,
): string[] {
  if (dryRun) return wasDamaged ? [`Nothing was changed. Make them again: whet repair ${runId}`] : [];
  const again =
    'A new run (whet run AGENT_YAML) makes everything anew and pays for no label that lies in the cache of ' +
    `${agent ?? 'the agent'}.`;
  if (resumed.length > 0) return [`${runId} goes on: ${resumed.join(', ')}`];
  if (lost.length > 0)
    return [`${lost.length} artifacts are still damaged. A backup that has them is as good as a repair. ${again}`];
  if (status === 'running') return wasDamaged ? [`If ${runId} waits, it goes on with: whet retry ${runId}`] : [];
  return status === 'completed' || !wasDamaged
    ? []
    : [
        `${runId} has ended (${status}), and a run that has ended does not go on. Its artifacts are whole again. ` +
          again,
      ];
}
