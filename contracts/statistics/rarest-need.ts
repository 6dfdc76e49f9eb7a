import { chanceOfAtLeast, fisherExact } from './exact-tails';

/**
 * What a lack that decides its episodes must show: so many tasks that lack it, so much more risk than the other lacks
 * explain, and this share of the least coverage.
 */
export const DECISIVE = { lackingTasks: 5, excessRisk: 0.5, coverage: 0.5 } as const;

/** The chance with which the rarest need is found. */
const POWER = 0.8;

/** The design of an identification. */
export interface IdentificationDesign {
  /** Number of different tasks that are played. */
  tasks: number;
  /** Share of the tasks without the need that fail. */
  otherRisk: number;
  /** Number of candidates. */
  candidates: number;
  familywiseError: number;
  minCoverage: number;
}

/**
 * The rarest need that an identification finds in four of five cases, as a share of the tasks. The need is one of which
 * every lack fails, and which half of the tasks that call for it show. Null if no need can be found by so few tasks, or
 * if other failures are so frequent that only the contrast of many failures can tell.
 */
export function rarestNeed({
  tasks,
  otherRisk,
  candidates,
  familywiseError,
  minCoverage,
}: IdentificationDesign): number | null {
  if (1 - otherRisk < DECISIVE.excessRisk) return null;
  const error = familywiseError / (2 * Math.max(1, candidates));
  let lacking: number = DECISIVE.lackingTasks;
  while (lacking <= tasks / 2 && !isEnough(lacking, otherRisk, error)) lacking++;
  if (lacking > tasks / 2) return null;
  for (let most = lacking; most <= tasks; most++) {
    const share = most / tasks;
    const isCovered = share >= DECISIVE.coverage * minCoverage * (share + otherRisk * (1 - share));
    // Half of the tasks with the need lack it.
    if (isCovered && chanceOfAtLeast(lacking, Array<number>(tasks).fill(share)) >= POWER) return Math.min(1, 2 * share);
  }
  return null;
}

/** Whether so many tasks that lack it, all failed, and as many that show it pass both tests. */
function isEnough(lacking: number, otherRisk: number, error: number): boolean {
  const shown = { events: Math.round(otherRisk * lacking), trials: lacking };
  return otherRisk ** lacking <= error && fisherExact({ events: lacking, trials: lacking }, shown) <= error;
}
