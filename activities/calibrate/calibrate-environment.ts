import { Context } from '@temporalio/activity';
import { calibrationResultSchema, type CalibrationResult } from '../../contracts/artifacts/environment-attempt';
import { type ReusableCalibration, reusableCalibrationSchema } from '../../contracts/artifacts/reuse';
import { certificateSchema } from '../../contracts/artifacts/certificate';
import { type TransferEstimate, validationSchema } from '../../contracts/artifacts/environment-check';
import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import type { Trajectory } from '../../contracts/artifacts/trajectory';
import type { CalibrationInput, CalibrationOutcome } from '../../contracts/messages/sharpen-stage';
import { wholeWords, startOf } from '../../contracts/clean-text';
import { ATTEMPT_OUTCOME_CHARS } from '../../contracts/limits';
import { type ArtifactStore, getJson, layout, putJson } from '../../store';
import type { RolloutDeps } from '../rollout/rollout-deps';
import { readPreparedSpec } from '../prepared-spec';
import { Progress } from '../progress';
import { targetProfileReader } from '../target-profile/read-target-profile';
import {
  type EpisodePlan,
  EnvironmentUnusable,
  MAX_PROCESS_FAULTS,
  loadRollouts,
  type RolloutResults,
} from '../rollout';
import { calibrationOf } from './calibration';
import { aboveGivingUp } from './giving-up';
import { certificateOf } from '../environment-checks/certificate';
import {
  type CalibrationDesign,
  calibrationDesign,
  type CalibrationThresholds,
  nextRollouts,
  verdictDoubt,
} from './stopping-rule';
import { calibrationKey } from '../reuse/content-keys';
import { keepCertifiedEnvironment } from '../reuse/environment-inputs';
import { keepReusable, takeReusable } from '../reuse/reuse-records';
import { calibrationSeeds, heldAcrossRanges } from './seed-ranges';
import { keepRolloutsToRead } from './rollouts-to-read';
import { keepShown } from './shown-rollouts';
import { assertOwnFault, syntheticPlan, syntheticRollouts, tokensOf } from './synthetic-rollouts';
import { estimateTransfer } from './transfer';

/** Share of rollouts that may end in an exception of the environment. */
const MAX_FAULT_SHARE = 0.01;

/**
 * Activity: rolls the base model out in a synthesised environment, at training
 * temperature, until it is certain enough whether the model can learn anything there, and completes the certificate. It
 * resumes where an earlier attempt stopped. An environment that keeps failing is out of band, whatever its figures.
 * @throws Sandbox.Unavailable.
 */
export async function calibrateEnvironment(deps: RolloutDeps, input: CalibrationInput): Promise<CalibrationOutcome> {
  const { context, capability, source } = input;
  const { store } = deps;
  const prepared = await readPreparedSpec(store, context.spec);
  const { calibration, environment } = prepared.spec;
  const { seeds, rolloutsPerSeed, ...band } = calibration;
  const thresholds: CalibrationThresholds = { ...band, successReward: environment.successReward };
  const design = calibrationDesign({ seeds, rolloutsPerSeed });
  const taskSeeds = calibrationSeeds(seeds, source.sha256);
  const key = calibrationKey(prepared, source.sha256, context.seed);
  const known = await takeReusable(store, context.agent, key, reusableCalibrationSchema, (record) =>
    takeOver(store, input, prepared, thresholds, record),
  );
  if (known !== null) {
    if (known.inBand && known.toRead === undefined) await keepCertified(deps, input, prepared);
    return known;
  }
  // The cost counts even when the calibration comes to nothing.
  let rolledOut: RolloutResults = { trajectories: [], seconds: 0, faults: [] };
  let result: CalibrationResult;
  try {
    const groups = await rollOutUntilCertain(
      deps,
      input,
      prepared,
      design,
      thresholds,
      taskSeeds,
      (soFar) => (rolledOut = soFar),
    );
    const { doubt } = verdictDoubt(groups, design, thresholds);
    const figures = calibrationOf(groups, thresholds, { ...design, doubt });
    const compared = aboveGivingUp(
      heldAcrossRanges(figures, taskSeeds),
      await getJson(store, input.validation, validationSchema),
    );
    result = withRefused(withFaults(compared, rolledOut), rolledOut);
  } catch (error) {
    assertOwnFault(error);
    if (error instanceof EnvironmentUnusable) rolledOut = error.finished;
    result = unusable(thresholds, error.message);
  }
  const folder = layout.environments(context.runId, capability.id);
  const transfer =
    result.seeds === 0
      ? null
      : await estimateWithHeartbeats(store, input, rolledOut.trajectories, environment.successReward);
  const stored = await storeCalibration(store, input, prepared, { result, thresholds, transfer });
  const verdict = { inBand: result.verdict === 'in-band', faulty: result.faulty, outcome: outcomeLine(result) };
  const shown = verdict.inBand ? null : await keepShown(store, folder, rolledOut.trajectories);
  const toRead = verdict.inBand ? await keepRolloutsToRead(deps, input, prepared, rolledOut.trajectories) : null;
  const rollouts = { ...(shown !== null && { rollouts: shown }), ...(toRead !== null && { toRead }) };
  // A fault may have come from this machine: the next run tries it again.
  if (!verdict.faulty) {
    const made = { runId: context.runId, ...stored, ...rollouts, ...verdict };
    await keepReusable(store, context.agent, key, made);
  }
  if (verdict.inBand && toRead === null) await keepCertified(deps, input, prepared);
  return { ...verdict, ...stored, ...rollouts, ...tokensOf(rolledOut.trajectories) };
}

/**
 * Reuses an earlier run's calibration. The certificate has today's validation and the earlier run's transfer estimate.
 */
async function takeOver(
  store: ArtifactStore,
  input: CalibrationInput,
  prepared: PreparedSpec,
  thresholds: CalibrationThresholds,
  { runId, detail, certificate, rollouts, toRead, inBand, faulty, outcome }: ReusableCalibration,
): Promise<CalibrationOutcome | null> {
  // When a repair repeats the run's own calibration, it is made again from its work file.
  if (runId === input.context.runId) return null;
  const result = await getJson(store, detail, calibrationResultSchema);
  const { transfer } = await getJson(store, certificate, certificateSchema);
  const folder = layout.environments(input.context.runId, input.capability.id);
  const shown = rollouts && (await store.put(folder, 'rollouts.jsonl', await store.get(rollouts)));
  const isRead = prepared.spec.certificate.secondReader.labels > 0;
  // The earlier run wanted no second reader.
  if (inBand && isRead && toRead === undefined) return null;
  const read = isRead ? toRead && (await store.put(folder, 'to-read.jsonl', await store.get(toRead))) : undefined;
  return {
    inBand,
    faulty,
    outcome,
    ...(shown && { rollouts: shown }),
    ...(read && { toRead: read }),
    ...(await storeCalibration(store, input, prepared, { result, thresholds, transfer })),
    promptTokens: 0,
    completionTokens: 0,
    reusedFrom: runId,
  };
}

/** Stores a calibration, and the certificate that it completes. */
async function storeCalibration(
  store: ArtifactStore,
  { context, capability, source, validation }: CalibrationInput,
  prepared: PreparedSpec,
  calibrated: NonNullable<Parameters<typeof certificateOf>[2]>,
): Promise<Pick<CalibrationOutcome, 'detail' | 'certificate'>> {
  const folder = layout.environments(context.runId, capability.id);
  const settings = prepared.spec.certificate;
  const facts = { capability: capability.id, source, isolation: prepared.sandbox.mode, settings };
  const certificate = certificateOf(facts, await getJson(store, validation, validationSchema), calibrated);
  return {
    detail: await putJson(store, folder, 'calibration.json', calibrated.result),
    certificate: await putJson(store, folder, 'certificate.json', certificate),
  };
}

/** Saves an environment that nobody else has to judge for later runs. */
async function keepCertified(deps: RolloutDeps, input: CalibrationInput, prepared: PreparedSpec): Promise<void> {
  const { cancellationSignal: signal } = Context.current();
  const { tools } = await targetProfileReader(deps)(input.context, prepared, signal);
  await keepCertifiedEnvironment(deps.store, input, tools);
}

/**
 * Estimates the transfer. It reads every label and trajectory of the run. So it sends heartbeats and can be cancelled,
 * like the rollouts.
 */
async function estimateWithHeartbeats(
  store: ArtifactStore,
  input: CalibrationInput,
  synthetic: readonly Trajectory[],
  successReward: number,
): Promise<TransferEstimate | null> {
  const { cancellationSignal: signal } = Context.current();
  const note = `estimates the transfer of ${input.capability.id}`;
  using progress = new Progress({ stage: 'sharpen', unit: 'estimates', total: 1, note, everyMs: 500 });
  const estimate = await estimateTransfer(store, input, synthetic, successReward, signal);
  progress.advance();
  return estimate;
}

/**
 * Plays the rollouts that the stopping rule asks for, portion by portion. Rollouts of an earlier attempt are in the
 * work file and cost nothing.
 * @returns the rewards of each task, in the order of `taskSeeds`.
 */
async function rollOutUntilCertain(
  deps: RolloutDeps,
  input: CalibrationInput,
  prepared: PreparedSpec,
  design: CalibrationDesign,
  thresholds: CalibrationThresholds,
  taskSeeds: readonly number[],
  /** Called after each portion with all rollouts so far. */
  onPortion: (rolledOut: RolloutResults) => void,
): Promise<number[][]> {
  const roll = await syntheticRollouts(deps, input, prepared);
  const plans: EpisodePlan[] = [];
  let groups: number[][] = [];
  for (
    let wanted = nextRollouts(groups, design, thresholds);
    wanted !== null;
    wanted = nextRollouts(groups, design, thresholds)
  ) {
    for (const { group, upTo } of wanted) {
      for (let trial = groups[group]?.length ?? 0; trial < upTo; trial++) {
        plans.push(syntheticPlan(prepared, input.context.seed, taskSeeds[group]!, trial));
      }
    }
    const all = await roll({ plans, work: 'calibrate', note: 'calibrate' });
    const rolledOut = onlyPlanned(await loadRollouts(all), plans);
    onPortion(rolledOut);
    const lost = rolledOut.faults.filter((fault) => fault.lost);
    // `rollOut` applies this limit to each portion; here it applies to all portions together.
    if (lost.length > MAX_PROCESS_FAULTS) {
      throw new EnvironmentUnusable(
        lost.map(({ sentence }) => sentence),
        rolledOut,
      );
    }
    groups = rewardsByTask(rolledOut.trajectories, taskSeeds);
  }
  return groups;
}

/** Only the planned rollouts: an earlier attempt may have played more, which belong to later portions. */
function onlyPlanned(rolledOut: RolloutResults, plans: readonly EpisodePlan[]): RolloutResults {
  const planned = new Set(plans.map(({ seed, trial }) => `${seed}:${trial}`));
  const isPlanned = (seed: number, trial: number): boolean => planned.has(`${seed}:${trial}`);
  return {
    ...rolledOut,
    trajectories: rolledOut.trajectories.filter(({ task, trial }) => isPlanned(task.seed, trial)),
    faults: rolledOut.faults.filter(({ seed, trial }) => isPlanned(seed, trial)),
  };
}

function rewardsByTask(trajectories: readonly Trajectory[], taskSeeds: readonly number[]): number[][] {
  const groups: number[][] = [];
  for (const { task, reward } of trajectories) (groups[taskSeeds.indexOf(task.seed)] ??= []).push(reward);
  return groups;
}

/**
 * The calibration, out of band if the environment failed too often. The trainer tolerates a rare exception, for example
 * after a malformed call. Frequent exceptions distort the figures, and a process that ends or hangs would end the
 * training.
 */
function withFaults(result: CalibrationResult, { faults, trajectories }: RolloutResults): CalibrationResult {
  const lost = faults.filter((fault) => fault.lost).length;
  if (lost === 0 && faults.length <= MAX_FAULT_SHARE * trajectories.length) return result;
  const sentence =
    `The environment failed in ${faults.length} of ${trajectories.length} rollouts, ` +
    `in ${lost} of them by ending or hanging: ${startOf(faults[0]!.sentence, 600)}`;
  return {
    ...result,
    faulty: true,
    verdict: result.verdict === 'in-band' ? 'uninformative' : result.verdict,
    problems: [sentence, ...result.problems],
  };
}

/** The calibration with the number of rollouts that the model server refused. */
function withRefused(result: CalibrationResult, { trajectories }: RolloutResults): CalibrationResult {
  const refused = trajectories.filter(({ finish }) => finish === 'refused').length;
  return refused === 0 ? result : { ...result, refused };
}

/** The calibration of an environment in which no rollout was possible. */
function unusable(thresholds: CalibrationThresholds, message: string): CalibrationResult {
  return {
    ...calibrationOf([[0]], thresholds),
    seeds: 0,
    rolloutsPerSeed: 0,
    rollouts: 0,
    planned: 0,
    rolloutsInMeans: 0,
    passAt: {},
    groupMeans: [],
    faulty: true,
    verdict: 'uninformative',
    problems: [startOf(message, 800)],
  };
}

/** The calibration in one line, for the workflow. */
function outcomeLine({
  verdict,
  meanReward,
  meanSuccess,
  informativeGroups,
  seeds,
  rollouts,
  refused,
  problems,
}: CalibrationResult): string {
  if (seeds === 0) return wholeWords(`unusable: ${problems[0]?.split('\n')[0] ?? ''}`, ATTEMPT_OUTCOME_CHARS);
  const figures =
    `mean reward ${meanReward.toFixed(2)}, success ${meanSuccess.toFixed(2)}, ` +
    `informative groups ${informativeGroups.toFixed(2)}`;
  const ended = refused === undefined ? '' : `, of which the model server refused ${refused}`;
  const line = `${verdict}: ${figures} (${rollouts} rollouts${ended})`;
  // The figures above do not always explain which thresholds were missed.
  return wholeWords([line, ...problems].join('. ').replace(/\.$/, ''), ATTEMPT_OUTCOME_CHARS);
}
