import { canonicalJson } from '../../../contracts/artifacts/trajectory-id';
import { type CheckResult, resultOf, twoDecimals } from '../check';
import type { EnvironmentTask } from '../environment-task';
import { CHECK_LIMITS } from '../limits';
import { nearDuplicates, taskSpace } from '../near-duplicates';

/**
 * Checks that different seeds give different tasks: few near-duplicates, different solutions, and more tasks than a
 * training needs.
 * @param tasks the tasks to compare with each other.
 */
export function checkDiversity(tasks: readonly EnvironmentTask[]): CheckResult {
  const duplicates = nearDuplicates(tasks);
  const share = duplicates.length / tasks.length;
  const solutions = tasks.map(({ reference }) => canonicalJson(reference));
  const distinct = new Set(solutions).size / tasks.length;
  const space = taskSpace(tasks.map(({ messages }, index) => canonicalJson([messages, solutions[index]])));
  const { maxNearDuplicates, minDistinctSolutions, minTaskSpace } = CHECK_LIMITS;
  const failures: string[] = [];
  if (share > maxNearDuplicates)
    failures.push(
      `${duplicates.length} of ${tasks.length} tasks nearly repeat another one ` +
        `(seeds ${duplicates[0]!.join(' and ')}); at most ${100 * maxNearDuplicates} % may`,
    );
  if (distinct < minDistinctSolutions)
    failures.push(`only ${twoDecimals(distinct)} of the solutions differ; at least ${minDistinctSolutions} must`);
  if (space < minTaskSpace)
    failures.push(`there seem to be only about ${space} different tasks; at least ${minTaskSpace} are needed`);
  const fine =
    `Of ${tasks.length} tasks ${duplicates.length} nearly repeat another one and ${twoDecimals(distinct)} of the ` +
    `solutions differ; the space has about ${space} tasks or more.`;
  return resultOf(failures.length === 0 ? [] : [`Of ${tasks.length} seeds: ${failures.join('; ')}.`], fine, [
    { name: 'share of near-duplicates', value: share, atMost: maxNearDuplicates },
    { name: 'share of distinct solutions', value: distinct, atLeast: minDistinctSolutions },
    { name: 'estimated size of the task space', value: space, atLeast: minTaskSpace },
  ]);
}
