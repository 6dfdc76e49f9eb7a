import type { Report } from '../../contracts/artifacts/report';

/** What was served before and after the run that trained too briefly, and its report. */
export interface Attack {
  before: number;
  after: number | null;
  report: Pick<Report, 'runId' | 'verdict' | 'promotedVersion'> & { evaluation: unknown };
}

/** What does not hold; empty when there was a candidate and the active version stays. */
export function problemsOf(attack: Attack): string[] {
  const { before, after, report } = attack;
  const { runId, verdict, promotedVersion } = report;
  return [
    ...(isCompared(attack) ? [] : [`${runId} had no candidate (${verdict}), so the gate was not tried`]),
    ...(after === before ? [] : [`version ${before} was active, and ${after ?? 'no version'} is now`]),
    ...(promotedVersion === null ? [] : [`${runId} promoted version ${promotedVersion} (${verdict})`]),
  ];
}

/** Whether the candidate came as far as a comparison: a night may find nothing to sharpen and end before. */
export const isCompared = ({ report }: Attack): boolean => report.evaluation !== null;
