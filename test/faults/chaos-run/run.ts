import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { RandomSource } from '../../../activities/statistics/random';
import { type Fault, draw } from './faults';
import type { Instance } from './instance';
import { findLeftovers } from './leftovers';
import type { FaultRecord } from './movement';
import { callsInReport, differences, type Outcome, readOutcome, withoutCosts } from './outcome';
import { countPayments, keysAsked, type Payments } from './payments';
import { Session } from './session';

/** A run that is left in peace and does not move for so long is stuck. */
const STUCK_MS = 300_000;

/** What an undisturbed run found. */
export interface Calm {
  outcome: Outcome;
  keys: string[];
  seconds: number;
}

/** What became of a disturbed run. */
export interface Result {
  name: string;
  /**
   * same: ended as the undisturbed run. differs: ended otherwise. failed: ended without a result. waits: waits for a
   * person and says so. stuck: did not end within its time, or waits without a word.
   */
  end: 'same' | 'differs' | 'failed' | 'cancelled' | 'waits' | 'stuck';
  /** How the scenario ends when all is well, where that is not `same`. */
  expected: 'cancelled' | undefined;
  seconds: number;
  differences: string[];
  problems: string[];
  leftovers: string[];
  answers: number;
  payments: Payments;
  faults: FaultRecord[];
  longestSilenceMs: number;
  /** What `whet why` said last. */
  why: string;
}

/** When faults strike, in milliseconds. */
export interface Timing {
  /** Shortest and longest pause between two faults. */
  every: readonly [number, number];
  /** How long they go on; afterwards the run is left in peace. */
  disturbedMs: number;
  /** How long a run may take from then on. */
  calmMs: number;
}

/** Something that is done to a run. Returns when it is over; the run is then left in peace. */
export type Script = (session: Session) => Promise<void>;

/** Disturbs a run with faults drawn at random until it ends or the time is over. */
export const mixture =
  (faults: readonly Fault[], { every: [least, most], disturbedMs }: Timing): Script =>
  async (session) => {
    const end = Date.now() + disturbedMs;
    while (!session.hasEnded && Date.now() < end) {
      await session.pass(least + session.random.uniform() * (most - least));
      if (!session.hasEnded) await draw(faults, session.random).strike(session);
    }
    if (!session.hasEnded) session.say('left in peace from here on');
  };

/** An undisturbed run. @throws when it has no result. */
export async function calmRun(instance: Instance, seed: number, random: RandomSource, say: (line: string) => void) {
  const session = new Session(instance, random, say);
  const began = Date.now();
  try {
    await session.begin(seed);
    const ended = await session.until(() => session.hasEnded, 1_800_000);
    if (!ended || session.last?.state.result == null)
      throw new Error(`The undisturbed run has no result: ${await session.askWhy()}`);
    const outcome = await readOutcome(instance.home, session.runId);
    const keys = [...keysAsked(instance.doorLog)];
    const calm: Calm = { outcome, keys, seconds: (Date.now() - began) / 1000 };
    await session.instance.whet(['down']);
    const leftovers = await findLeftovers(instance);
    return { calm, leftovers };
  } finally {
    await close(session);
  }
}

/** A run that `script` disturbs, and what became of it. */
export async function disturbedRun(
  name: string,
  instance: Instance,
  { seed, calm, random, script, expected, timing, say }: RunOptions,
): Promise<Result> {
  const session = new Session(instance, random, say);
  const began = Date.now();
  try {
    await session.begin(seed);
    await script(session);
    const isOver = () => session.hasEnded || session.movement.silentMs > STUCK_MS;
    await session.until(isOver, timing.calmMs);
    await session.settled();
    const why = await session.askWhy();
    const end = session.hasEnded ? endedAs(session) : waitsOpenly(session, why) ? 'waits' : 'stuck';
    const seconds = (Date.now() - began) / 1000;
    const compared = end === 'same' ? [session.runId, ...session.alsoCompare] : [];
    const isShared = session.alsoCompare.length > 0;
    const comparable = (outcome: Outcome) => (isShared ? withoutCosts(outcome) : outcome);
    const outcomes = await Promise.all(compared.map((runId) => readOutcome(instance.home, runId)));
    const found = outcomes.flatMap((outcome) => differences(comparable(calm.outcome), comparable(outcome)));
    const counted = end === 'same' && !isShared ? callsInReport(instance.home, session.runId) : null;
    if (counted !== null && counted < calm.keys.length)
      session.problem(`the report counts ${counted} of ${calm.keys.length} answered analyst calls`);
    const down = await session.whet('down');
    if (down.code !== 0) session.problem(`whet down ended with ${down.code}: ${down.stderr}`);
    const excuses = { deaths: session.workerDeaths, full: session.diskFull, destroyed: session.destroyed };
    return {
      name,
      expected,
      end: end === 'same' && found.length > 0 ? 'differs' : end,
      seconds,
      differences: found,
      problems: session.problems,
      leftovers: await findLeftovers(instance),
      answers: session.answers,
      payments: countPayments(instance.doorLog, instance.home, excuses, new Set(calm.keys)),
      faults: session.movement.faults,
      longestSilenceMs: session.movement.longestSilenceMs,
      why,
    };
  } finally {
    await close(session);
  }
}

/** What a disturbed run needs. */
export interface RunOptions {
  /** Seed of the run itself. */
  seed: number;
  calm: Calm;
  /** Draws the faults. */
  random: RandomSource;
  script: Script;
  expected?: 'cancelled' | undefined;
  timing: Timing;
  say: (line: string) => void;
}

function endedAs({ last, instance, runId }: Session): 'same' | 'failed' | 'cancelled' {
  if (last?.state.status === 'cancelled') return 'cancelled';
  const hasReport = existsSync(join(instance.home, 'store', 'runs', runId, 'report', 'report.json'));
  return last?.state.result != null && hasReport ? 'same' : 'failed';
}

const waitsOpenly = ({ waitingFor }: Session, why: string): boolean =>
  waitingFor !== null && waitingFor.split('\n').every((line) => why.includes(line));

async function close({ instance }: Session): Promise<void> {
  await instance.disconnect();
  endAll(instance);
}

/** Ends whatever still runs of an installation. */
export function endAll({ census }: Instance): void {
  for (const { pid } of census.stillRunning) {
    try {
      process.kill(pid, 'SIGCONT');
      process.kill(pid, 'SIGKILL');
    } catch {
      // It ended meanwhile.
    }
  }
}
