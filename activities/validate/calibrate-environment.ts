import { Context } from '@temporalio/activity';
import type { CalibrationOutcome, CalibrationResult, EnvironmentInput } from '../../contracts';
import { SYNTHETIC_SEEDS } from '../../contracts/seed-ranges';
import { failure } from '../../llm';
import { SandboxError, SandboxUnavailable } from '../../sandbox';
import { layout, putJson } from '../../store';
import type { RolloutDeps } from '../deps';
import { readPreparedSpec, readSynthesisedEnvironment } from '../prepared';
import { EnvironmentUnusable, type RolledOut, rollOut, samplingSeed } from '../rollout';
import { calibrationOf, type CalibrationThresholds } from './calibration';

/** Share of rollouts that may end in an exception of the environment. */
const MAX_FAULT_SHARE = 0.01;

/**
 * `calibrateEnvironment`: rolls the base model out in a synthesised environment, at training temperature, and says whether it can
 * learn anything there. Resumes where an earlier attempt stopped. An environment that keeps failing is out of band, whatever its figures.
 */
export function createCalibrateEnvironment(deps: RolloutDeps): (input: EnvironmentInput) => Promise<CalibrationOutcome> {
  return async ({ context: { runId, spec: specRef, seed }, capability, source }) => {
    const { store } = deps;
    const prepared = await readPreparedSpec(store, specRef);
    const { calibration, training, environment, model, collect } = prepared.spec;
    const { seeds, rolloutsPerSeed, ...band } = calibration;
    const thresholds: CalibrationThresholds = { ...band, successReward: environment.successReward };
    const plans = Array.from({ length: seeds * rolloutsPerSeed }, (_, index) => {
      const taskSeed = SYNTHETIC_SEEDS.calibration + Math.floor(index / rolloutsPerSeed);
      const trial = index % rolloutsPerSeed;
      return { seed: taskSeed, split: 'synthetic' as const, trial, model: model.name, samplingSeed: samplingSeed(seed, taskSeed, trial) };
    });
    let rolledOut: RolledOut;
    let result: CalibrationResult;
    try {
      rolledOut = await rollOut(deps, {
        plans,
        environment: await readSynthesisedEnvironment(store, source, capability.id),
        settings: {
          temperature: training.temperature,
          maxTurns: environment.maxTurns,
          maxCompletionTokens: training.maxCompletionTokens,
          successReward: environment.successReward,
        },
        modelBaseUrl: prepared.modelBaseUrl,
        adapters: [],
        concurrency: collect.concurrency,
        workKey: layout.work(runId, `calibrate-${capability.id}-${source.sha256.slice(0, 12)}`),
        stage: 'sharpen',
        note: `calibrate ${capability.id}`,
        signal: Context.current().cancellationSignal,
      });
      const groups = Array.from({ length: seeds }, (_, group) =>
        rolledOut.trajectories.slice(group * rolloutsPerSeed, (group + 1) * rolloutsPerSeed).map(({ reward }) => reward),
      );
      result = withFaults(calibrationOf(groups, thresholds), rolledOut);
    } catch (error) {
      if (error instanceof SandboxUnavailable) throw failure('Sandbox.Unavailable', error.message, { cause: error });
      if (!(error instanceof EnvironmentUnusable) && !(error instanceof SandboxError)) throw error;
      rolledOut = { trajectories: [], seconds: 0, faults: [] };
      result = unusable(thresholds, error.message);
    }
    const detail = await putJson(store, layout.environments(runId, capability.id), 'calibration.json', result);
    const tokens = (key: 'promptTokens' | 'completionTokens'): number => rolledOut.trajectories.reduce((sum, { usage }) => sum + usage[key], 0);
    return {
      inBand: result.verdict === 'in-band',
      outcome: outcomeLine(result, plans.length),
      detail,
      promptTokens: tokens('promptTokens'),
      completionTokens: tokens('completionTokens'),
    };
  };
}

/**
 * An exception now and then is what clumsy calls may cost, and the trainer puts up with it. One that is not rare spoils the figures,
 * and a process that ends or hangs would end the training.
 */
function withFaults(result: CalibrationResult, { faults, trajectories }: RolledOut): CalibrationResult {
  // An episode that took its process along has left nothing, not even its opening.
  const lost = trajectories.filter(({ messages }) => messages.length === 0).length;
  if (lost === 0 && faults.length <= MAX_FAULT_SHARE * trajectories.length) return result;
  const sentence = `The environment failed in ${faults.length} of ${trajectories.length} rollouts, in ${lost} of them by ending or hanging: ${faults[0]!.slice(0, 600)}`;
  return { ...result, verdict: result.verdict === 'in-band' ? 'uninformative' : result.verdict, problems: [sentence, ...result.problems] };
}

/** Figures of an environment that could not be rolled out in: none of its tasks earned anything. */
function unusable(thresholds: CalibrationThresholds, message: string): CalibrationResult {
  return {
    ...calibrationOf([[0]], thresholds),
    seeds: 0,
    rolloutsPerSeed: 0,
    passAt: {},
    groupMeans: [],
    verdict: 'uninformative',
    problems: [message.slice(0, 800)],
  };
}

function outcomeLine({ verdict, meanReward, meanSuccess, informativeGroups, seeds, problems }: CalibrationResult, rollouts: number): string {
  if (seeds === 0) return `unusable: ${problems[0]?.split('\n')[0] ?? ''}`.slice(0, 300);
  const figures = `mean reward ${meanReward.toFixed(2)}, success ${meanSuccess.toFixed(2)}, informative groups ${informativeGroups.toFixed(2)}`;
  return `${verdict}: ${figures} (${rollouts} rollouts)`;
}
