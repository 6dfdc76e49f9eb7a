import type { EnvironmentHandle } from '../../environment';
import { CERTIFICATION, type CheckResult, type Examination, text } from '../examination';
import { meanOrZero } from '../../statistics/mean';
import { play, rewardsOf } from '../play';
import { clumsyCalls } from '../scripted-policies';

/** Tasks on which the malformed calls are made together. */
const TASKS = 20;

/** Malformed calls are answered with an observation, not raised on, and earn little. */
export async function checkMalformedCalls(
  environment: EnvironmentHandle,
  { tools, tasks }: Examination,
): Promise<CheckResult> {
  const calls = clumsyCalls(tools);
  for (const call of calls) {
    try {
      await play(environment, tasks[0]!.seed, [call]);
    } catch (error) {
      throw new Error(
        `The call ${JSON.stringify(call).slice(0, 200)} is not answered with an observation: ${(error as Error).message}`,
        { cause: error },
      );
    }
  }
  const reward = meanOrZero(
    await rewardsOf(
      environment,
      tasks.slice(0, TASKS).map(({ seed }) => ({ seed, moves: calls })),
    ),
  );
  const passed = reward <= CERTIFICATION.maxTrivialReward;
  return {
    passed,
    detail: `${calls.length} malformed calls were answered, and together they earn ${text(reward)} on average${passed ? '' : `; at most ${CERTIFICATION.maxTrivialReward} may be had by them`}.`,
    figures: [{ name: 'mean reward', value: reward, atMost: CERTIFICATION.maxTrivialReward }],
  };
}
