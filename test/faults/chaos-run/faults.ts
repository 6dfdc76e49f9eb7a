import type { RandomSource } from '../../../activities/statistics/random';
import { isRunning } from '../../../cli/supervisor/processes';
import type { KnownProcess, ProcessKind } from './census';
import { fileBeingWritten, LABEL_SEGMENT, tearLastLine, WORK_SEGMENT } from './damage';
import { fillDisk, freeDisk } from './disk';
import type { Session } from './session';

/** Kinds of processes that are killed at random. */
const VICTIMS: readonly ProcessKind[] = [
  'worker',
  'temporal',
  'policy',
  'gateway',
  'analyst',
  'supervisor',
  'trainer',
  'trainer-shell',
  'jail',
  'environment',
  'command',
];
/** Kinds of processes that are stopped for a while. */
const STOPPABLE: readonly ProcessKind[] = ['worker', 'analyst', 'policy', 'temporal', 'trainer'];
const STOP_MS = 60_000;
const FULL_MS = { least: 20_000, most: 40_000 };

/** A sort of disturbance that is drawn at random. */
export interface Fault {
  name: string;
  /** How often it is drawn, in comparison with the others. */
  weight: number;
  needsDisk?: true;
  /** Returns when it is over. */
  strike(session: Session): Promise<void>;
}

/** All sorts that `--faults` names. */
export const FAULTS: readonly Fault[] = [
  {
    name: 'kill',
    weight: 12,
    async strike(session) {
      const count = session.random.below(4) === 0 ? 2 : 1;
      const victims = pick(session, shuffled(VICTIMS, session.random), count);
      if (victims.length > 0) session.kill(victims, count === 2 ? 'kill two' : 'kill');
    },
  },
  {
    name: 'stop',
    weight: 1,
    async strike(session) {
      const [victim] = pick(session, shuffled(STOPPABLE, session.random), 1);
      if (victim !== undefined) await stopFor(session, victim, STOP_MS);
    },
  },
  {
    name: 'disk',
    weight: 1,
    needsDisk: true,
    async strike(session) {
      const { random } = session;
      const ms = FULL_MS.least + random.uniform() * (FULL_MS.most - FULL_MS.least);
      const order = shuffled(VICTIMS, random);
      const withDeath = random.below(2) === 0;
      await fullDiskFor(session, ms, () => (withDeath ? pick(session, order, 1) : []));
    },
  },
  {
    name: 'torn',
    weight: 1,
    async strike(session) {
      const { instance, random } = session;
      const patterns = random.below(2) === 0 ? [WORK_SEGMENT, LABEL_SEGMENT] : [LABEL_SEGMENT, WORK_SEGMENT];
      const [path] = patterns.flatMap((pattern) => fileBeingWritten(instance.home, pattern) ?? []);
      if (path !== undefined) crashWhileWriting(session, path);
    },
  },
];

/** Stops a process for a while, or until the run has ended. */
export async function stopFor(session: Session, victim: KnownProcess, ms: number): Promise<void> {
  if (!isRunning(victim)) return;
  process.kill(victim.pid, 'SIGSTOP');
  session.disturbed('stop', [victim.kind], `for ${ms / 1000} s`);
  try {
    await session.pass(ms);
  } finally {
    if (isRunning(victim)) process.kill(victim.pid, 'SIGCONT');
    session.say(`${victim.kind} goes on${isRunning(victim) ? '' : ': it was ended meanwhile'}`);
  }
}

/** Lets the disk be full for a while. In the middle of it, what `victims` returns is killed. */
export async function fullDiskFor(session: Session, ms: number, victims: () => KnownProcess[]): Promise<void> {
  const { home } = session.instance;
  const from = Date.now();
  session.fullSince = from;
  session.disturbed('disk', ['disk'], `full for ${(ms / 1000).toFixed(0)} s`);
  let waiting: KnownProcess[] | null = null;
  try {
    for (;;) {
      fillDisk(home);
      if (Date.now() > from + ms) break;
      if (waiting === null && Date.now() > from + ms / 3) {
        waiting = victims();
        if (waiting.length > 0) session.kill(waiting, 'kill on a full disk');
      }
      await session.pass(500);
    }
  } finally {
    freeDisk(home);
    session.diskFull.push({ from, to: Date.now() });
    session.fullSince = null;
    session.say('the disk has room again');
  }
}

/** Kills the workers and leaves half a last line in a file, as if they had died while they wrote it. */
export function crashWhileWriting(session: Session, path: string): void {
  const workers = session.instance.census.look().filter(({ kind }) => kind === 'worker');
  session.kill(workers, 'torn', path.slice(session.instance.home.length + 1));
  session.lostAnswers(tearLastLine(path));
}

/** Processes of the first kinds that run, one of each kind. */
function pick({ instance, random }: Session, kinds: readonly ProcessKind[], count: number): KnownProcess[] {
  const running = instance.census.look();
  const draw = random.uniform();
  return kinds
    .flatMap((kind) => {
      const those = running.filter((process_) => process_.kind === kind);
      return those[Math.floor(draw * those.length)] ?? [];
    })
    .slice(0, count);
}

/** Draws a fault by weight. */
export function draw(faults: readonly Fault[], random: RandomSource): Fault {
  let at = random.uniform() * faults.reduce((sum, { weight }) => sum + weight, 0);
  for (const fault of faults) if ((at -= fault.weight) < 0) return fault;
  return faults[0] as Fault;
}

function shuffled<T>(values: readonly T[], random: RandomSource): T[] {
  const list = [...values];
  for (let i = list.length - 1; i > 0; i--) {
    const j = random.below(i + 1);
    [list[i], list[j]] = [list[j] as T, list[i] as T];
  }
  return list;
}
