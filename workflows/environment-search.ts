import { patched } from '@temporalio/workflow';
import { ATTEMPT_OUTCOME_CHARS } from '../contracts/limits';
import type { ArtifactRef } from '../contracts/artifacts/artifact-ref';
import type { TokenUse } from '../contracts/messages/run-context';
import type { AttemptRefs, SharpenInput, SynthesisResult } from '../contracts/messages/sharpen-stage';
import { llm, sandbox } from './activities';
import type { EditedEnvironmentSlot } from './edited-environment-slot';
import type { OperatorGate } from './operator-gate';

/** Makes environments for one capability until one is accepted, and records every attempt. */
export class EnvironmentSearch {
  /** Attempts that have ended, in order. */
  readonly attempts: AttemptRefs[] = [];
  /** Tokens used so far, including those of attempts that an activity's failure cut short. */
  readonly tokens: TokenUse[] = [];

  /**
   * @param gate waits for a person when an attempt fails in a way that a person can correct.
   * @param edited where environments edited by a person arrive; the next attempt takes them from there.
   * @param report shows a line about the search in the run's progress table.
   */
  constructor(
    private readonly input: Readonly<SharpenInput>,
    private readonly gate: OperatorGate,
    private readonly edited: EditedEnvironmentSlot,
    private readonly report: (text: string) => Promise<void>,
  ) {}

  /**
   * Makes at most `size` more attempts, and stops at the first one that is accepted unless an edited environment waits
   * to be tried. Returns the last attempt, or null when a person skips the capability.
   */
  runRound(size: number): Promise<AttemptRefs | null> {
    const start = this.attempts.length;
    return this.gate.runUnlessSkipped(async () => {
      while (this.madeSince(start) < size && (!this.last?.accepted || this.hasEdited())) {
        this.attempts.push(await this.attempt());
      }
      return this.last;
    });
  }

  /** Attempts since the `start`-th. One that an earlier run made cost nothing, and does not count. */
  private madeSince(start: number): number {
    return this.attempts.slice(start).filter(({ reusedFrom }) => reusedFrom === undefined).length;
  }

  /**
   * Whether an edited environment is there whose attempt has not ended. Earlier versions forgot one whose attempt had
   * begun and met a failure.
   */
  private hasEdited(): boolean {
    return this.edited.hasUntried || (this.edited.isHeld && patched('edited-environment-outlasts-failures'));
  }

  private get last(): AttemptRefs | null {
    return this.attempts.at(-1) ?? null;
  }

  /** Writes an environment, or takes the edited one, and puts it through validation and calibration. */
  private async attempt(): Promise<AttemptRefs> {
    const attempt = this.attempts.length + 1;
    const before = this.last === null ? '' : ` (before: ${this.last.outcome})`;
    await this.report(`environment, attempt ${attempt}${before}`);
    const edited = this.edited.beginAttempt();
    const { source, reusedFrom } = edited === null ? await this.synthesise(attempt) : { source: edited };
    const result = await this.certify(attempt, source);
    this.edited.endAttempt(source);
    return { ...result, ...(reusedFrom !== undefined && { reusedFrom }) };
  }

  /** Asks the analyst for an environment. The results of the previous attempt are its feedback. */
  private async synthesise(attempt: number): Promise<Pick<SynthesisResult, 'source' | 'reusedFrom'>> {
    const { context, capability, identification, trajectories, labels } = this.input;
    const outOfBand = this.attempts.filter((a) => a.outOfBand).length;
    const { source, model, promptTokens, completionTokens, reusedFrom } =
      await llm.synthesiseEnvironment.executeWithOptions({ summary: `environment: ${this.nameOf(attempt)}` }, [
        { context, capability, identification, trajectories, labels, attempt, previous: this.last, outOfBand },
      ]);
    this.tokens.push({ stage: 'sharpen', model, promptTokens, completionTokens });
    return { source, ...(reusedFrom !== undefined && { reusedFrom }) };
  }

  /** Validates an environment and, where it is valid, calibrates it with rollouts of the base model. */
  private async certify(attempt: number, source: ArtifactRef): Promise<AttemptRefs> {
    const { context, capability, trajectories, labels } = this.input;
    const environment = { context, capability, source };
    const { passed, problems, detail, certificate } = await sandbox.validateEnvironment.executeWithOptions(
      { summary: `validate: ${this.nameOf(attempt)}` },
      [environment],
    );
    if (!passed) {
      return {
        attempt,
        source,
        validation: detail,
        calibration: null,
        certificate,
        accepted: false,
        outOfBand: false,
        outcome: `invalid: ${problems.join(' ')}`.slice(0, ATTEMPT_OUTCOME_CHARS),
      };
    }
    const calibration = await sandbox.calibrateEnvironment.executeWithOptions(
      { summary: `calibrate: ${this.nameOf(attempt)}` },
      [{ ...environment, validation: detail, trajectories, labels }],
    );
    const { promptTokens, completionTokens } = calibration;
    this.tokens.push({ stage: 'sharpen', model: 'base', promptTokens, completionTokens });
    return {
      attempt,
      source,
      validation: detail,
      calibration: calibration.detail,
      certificate: calibration.certificate,
      ...(calibration.reusedFrom !== undefined && { calibrationFrom: calibration.reusedFrom }),
      accepted: calibration.inBand,
      outOfBand: !calibration.inBand && !calibration.faulty,
      outcome: calibration.outcome,
    };
  }

  private nameOf(attempt: number): string {
    return `${this.input.capability.name}, attempt ${attempt}`;
  }
}
