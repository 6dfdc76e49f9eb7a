/** The night of an agent whose environment has changed a little, and kills where such a night is delicate. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { writeEnvironment } from './plant';
import { layout, LocalStore, readNights, readRegistry } from '../../../store';
import type { ProcessKind } from './census';
import type { Scenario } from './scenarios';
import type { Session } from './session';

/** The agent of the changed night, unless `--agent` names another one of the orders desk. */
export const CHANGED_AGENT = 'test/faults/chaos-agent/changed-night.yaml';

const LIMIT_MS = 900_000;
/** What is waited for takes milliseconds. */
const LOOK_MS = 10;

/**
 * Writes the agent as it is before the change: with the desk's environment without its fourth deficit, which is written
 * into `folder`. The file lies beside the agent's own, where `whet up` finds the analyst. Returns its path and what
 * removes it.
 * @throws Error when the agent's environment is not a plain path.
 */
export function writeAgentBefore(agent: string, folder: string): { path: string; remove: () => void } {
  writeEnvironment(folder, false);
  const text = readFileSync(agent, 'utf8');
  const field = /^( {2}path: ).*environment\.py$/m;
  if (!field.test(text)) throw new Error(`${agent}: environment.path is not that of the orders desk.`);
  const path = join(dirname(agent), `.before-the-change-${process.pid}.yaml`);
  writeFileSync(path, text.replace(field, `$1${relative(dirname(agent), join(folder, 'environment.py'))}`));
  return { path, remove: () => rmSync(path, { force: true }) };
}

/** Kills processes as soon as `isTime` holds, which is looked at every few milliseconds. */
async function killWhen(
  session: Session,
  kinds: readonly ProcessKind[],
  what: string,
  isTime: (store: LocalStore) => boolean | Promise<boolean>,
): Promise<void> {
  const store = new LocalStore(join(session.instance.home, 'store'));
  const end = Date.now() + LIMIT_MS;
  let isOver = false;
  const strike = async (): Promise<void> => {
    while (!session.hasEnded && Date.now() < end) {
      const victims = (await isTime(store)) ? victimsOf(session, kinds) : [];
      if (victims.length > 0) {
        session.kill(victims, 'kill', what);
        break;
      }
      await sleep(LOOK_MS);
    }
    isOver = true;
  };
  const struck = strike();
  const before = session.movement.faults.length;
  await session.until(() => isOver || session.hasEnded, LIMIT_MS);
  await struck;
  if (session.movement.faults.length === before) session.problem(`the scenario found nothing to kill ${what}`);
}

const victimsOf = ({ instance }: Session, kinds: readonly ProcessKind[]) => {
  const running = instance.census.look();
  return kinds.flatMap((kind) => running.find((one) => one.kind === kind) ?? []);
};

/** Whether what an earlier night made has begun to be copied into the run's own folder. */
const reuses = ({ runId }: Session) => {
  const folder = dirname(layout.environments(runId, 'any'));
  return (store: LocalStore) => existsSync(store.localPath(folder));
};

/** Whether the run's comparison is written down: its result is not yet, or has just been. */
const compared =
  ({ runId }: Session, agent: string) =>
  async (store: LocalStore) =>
    (await readNights(store, agent)).comparisons.some((one) => one.runId === runId);

/** Whether the run's version is in the registry. */
const promoted =
  ({ runId }: Session, agent: string) =>
  async (store: LocalStore) =>
    (await readRegistry(store, agent)).versions.some((one) => one.runId === runId);

const agentOf = ({ last }: Session): string => last?.state.progress?.agent ?? 'orders-desk-changed';

const delicate = (kinds: readonly ProcessKind[]): Scenario => ({
  name: `kill-${kinds.join('-and-')}-where-delicate`,
  what: `${kinds.join(' and ')} killed in reuse, in training (with the trainer), at the gate and in promotion`,
  async script(session) {
    await killWhen(session, kinds, 'in reuse', reuses(session));
    await killWhen(session, ['trainer', ...kinds], 'in training', () => victimsOf(session, ['trainer']).length > 0);
    const agent = agentOf(session);
    await killWhen(session, kinds, 'at the gate', compared(session, agent));
    await killWhen(session, kinds, 'in promotion', promoted(session, agent));
  },
});

/** Scenarios for a night that reuses, trains and promotes. */
export const CHANGED_SCENARIOS: readonly Scenario[] = [delicate(['worker']), delicate(['temporal'])];
