import type { EnvironmentHandle } from '../../environment';
import { type CheckInput, type CheckResult, twoDecimals } from '../check';
import { CHECK_LIMITS } from '../limits';
import { meanRewardOf, play } from '../play';
import { malformedCalls } from '../scripted-policies';
import { startOf } from '../../../contracts/clean-text';

/** Number of tasks; all malformed calls are made in one episode of each. */
const TASKS = 20;

/**
 * Checks that the environment answers malformed calls with an observation instead of raising an exception, and gives
 * little reward for them.
 */
export async function checkMalformedCalls(
  environment: EnvironmentHandle,
  { tools, tasks }: CheckInput,
): Promise<CheckResult> {
  const calls = malformedCalls(tools);
  for (const call of calls) {
    try {
      await play(environment, tasks[0]!.seed, [call]);
    } catch (error) {
      throw new Error(
        `The call ${startOf(JSON.stringify(call), 200)} is not answered with an observation: ` +
          (error as Error).message,
        { cause: error },
      );
    }
  }
  const scripts = tasks.slice(0, TASKS).map(({ seed }) => ({ seed, moves: calls }));
  const reward = await meanRewardOf(environment, scripts);
  const passed = reward <= CHECK_LIMITS.maxTrivialReward;
  const limit = passed ? '' : `; at most ${CHECK_LIMITS.maxTrivialReward} may be had by them`;
  return {
    passed,
    detail:
      `${calls.length} malformed calls were answered, ` +
      `and together they earn ${twoDecimals(reward)} on average${limit}.`,
    figures: [{ name: 'mean reward', value: reward, atMost: CHECK_LIMITS.maxTrivialReward }],
  };
}
