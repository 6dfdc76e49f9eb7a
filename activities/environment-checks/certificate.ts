import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import type { Certificate } from '../../contracts/artifacts/certificate';
import type { CalibrationResult } from '../../contracts/artifacts/environment-attempt';
import type { EnvironmentCheck, TransferEstimate, Validation } from '../../contracts/artifacts/environment-check';
import type { AgentSpec } from '../../contracts/config/agent-spec';
import { SYNTHETIC_SEEDS } from '../../contracts/limits';

/** The subject of a certificate, and the settings of its checks. */
interface CertificateFacts {
  /** Id of the capability, or the file's path in `whet env check`. */
  capability: string;
  source: Pick<ArtifactRef, 'sha256' | 'bytes'>;
  /** `jail` or `unsafe`. */
  isolation: string;
  settings: Pick<AgentSpec['certificate'], 'seeds' | 'diversitySeeds'>;
}

/** A calibration, its thresholds in agent.yaml, and the transfer estimate. */
export interface Calibrated {
  result: CalibrationResult;
  thresholds: Omit<AgentSpec['calibration'], 'seeds' | 'rolloutsPerSeed'>;
  transfer: TransferEstimate | null;
}

/** The certificate of an environment. It is certified only if every check passed and there is a calibration. */
export function certificateOf(
  { capability, source, isolation, settings }: CertificateFacts,
  validation: Validation,
  calibrated?: Calibrated,
): Certificate {
  const checks = [...validation.checks, ...(calibrated ? [calibrationCheck(calibrated)] : [])];
  const { seeds, diversitySeeds } = settings;
  return {
    schemaVersion: 1,
    capability,
    environment: { sha256: source.sha256, bytes: source.bytes },
    ...verdictOf(checks, calibrated !== undefined),
    isolation,
    settings: { seeds, diversitySeeds, firstSeed: SYNTHETIC_SEEDS.validation },
    checks,
    calibration: calibrated?.result ?? null,
    transfer: calibrated?.transfer ?? null,
  };
}

/** The certificate with one more check at its end. */
export function withCheck(certificate: Certificate, check: EnvironmentCheck): Certificate {
  const checks = [...certificate.checks, check];
  return { ...certificate, ...verdictOf(checks, certificate.calibration !== null), checks };
}

function verdictOf(
  checks: readonly EnvironmentCheck[],
  isCalibrated: boolean,
): Pick<Certificate, 'certified' | 'summary'> {
  const failed = checks.filter(({ passed }) => !passed).map(({ name }) => name);
  const passed = `${checks.length} checks passed`;
  if (failed.length > 0) return { certified: false, summary: `Not certified: ${failed.join(', ')} failed.` };
  return { certified: isCalibrated, summary: isCalibrated ? `Certified: ${passed}.` : `Not calibrated; ${passed}.` };
}

function calibrationCheck({ result, thresholds }: Calibrated): EnvironmentCheck {
  const { meanReward, meanSuccess, maxAllSuccessGroups, maxAllZeroGroups, maxConstantGroups } = thresholds;
  const { allSuccessGroups, allZeroGroups, constantGroups, informativeGroups } = result;
  const passed = result.verdict === 'in-band';
  const rollouts = `${result.rollouts} rollouts on ${result.seeds} tasks`;
  return {
    name: 'calibrated',
    group: 'calibrated',
    passed,
    detail: passed
      ? `After ${rollouts} the base model's mean reward is ${result.meanReward.toFixed(2)} ` +
        `and its success ${result.meanSuccess.toFixed(2)}.`
      : `After ${rollouts}: ${result.verdict}. ${result.problems.join(' ')}`,
    figures: [
      { name: 'mean reward', value: result.meanReward, atLeast: meanReward[0], atMost: meanReward[1] },
      { name: 'mean success', value: result.meanSuccess, atLeast: meanSuccess[0], atMost: meanSuccess[1] },
      { name: 'groups in which every rollout succeeds', value: allSuccessGroups, atMost: maxAllSuccessGroups },
      { name: 'groups in which every reward is 0', value: allZeroGroups, atMost: maxAllZeroGroups },
      { name: 'groups whose rewards are all equal', value: constantGroups, atMost: maxConstantGroups },
      { name: 'groups whose rewards differ', value: informativeGroups, atLeast: thresholds.minInformativeGroups },
      { name: 'standard deviation of the rewards', value: result.rewardStd, atLeast: thresholds.minRewardStd },
      ...(result.bySeeds === undefined
        ? []
        : [
            { name: 'mean reward with training seeds', value: result.bySeeds.training.meanReward },
            { name: 'mean reward with calibration seeds', value: result.bySeeds.calibration.meanReward },
          ]),
    ],
  };
}
