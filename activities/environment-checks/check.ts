import type { Figure } from '../../contracts/artifacts/environment-check';
import type { EnvironmentTool } from '../../contracts/messages/environment-protocol';
import type { EnvironmentTask } from './environment-task';

/** The result of a check. `detail` is a sentence with the numbers, even if the check passed. */
export interface CheckResult {
  passed: boolean;
  detail: string;
  figures: Figure[];
}

/**
 * The result of a check with these problems, each of them a sentence. Without problems the check passed, and `fine` is
 * its sentence.
 */
export const resultOf = (problems: readonly string[], fine: string, figures: Figure[]): CheckResult => ({
  passed: problems.length === 0,
  detail: problems.length === 0 ? fine : problems.join(' '),
  figures,
});

/** Input of the checks: the environment's tools, and the tasks for the scripts. */
export interface CheckInput {
  tools: readonly EnvironmentTool[];
  tasks: readonly EnvironmentTask[];
}

/** `0.25`: a number for a check's sentence. */
export const twoDecimals = (value: number): string => value.toFixed(2);

/** `25 %`: a share for a check's sentence. */
export const wholePercent = (share: number): string => `${Math.round(100 * share)} %`;
