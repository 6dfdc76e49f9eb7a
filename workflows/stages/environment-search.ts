import { ApplicationFailure } from '@temporalio/workflow';
import { wholeWords } from '../../contracts/clean-text';
import { ATTEMPT_OUTCOME_CHARS } from '../../contracts/limits';
import type { FailureType } from '../../contracts/failures/run';
import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import type { TokenUse } from '../../contracts/messages/run-context';
import type { AttemptRefs, EnvironmentInput, SharpenInput } from '../../contracts/messages/sharpen-stage';
import { llm, sandbox } from '../shared/activities';
import type { EditedEnvironmentSlot } from './edited-environment-slot';
import { applicationFailureOf, messageOf } from '../shared/failure-causes';
import { nameInSummary, singleLine } from '../shared/single-line';
import type { OperatorGate } from '../waits/operator-gate';

/** Number of latest attempts whose outcomes the analyst sees. */
const SHOWN_ATTEMPTS = 6;
/** Number of first attempts with which a later attempt is compared. */
const COMPARED_ATTEMPTS = 6;

const DECLINED = 'Analyst.Declined' satisfies FailureType;

/** Statuses that refuse no question: of an unknown model, and of failures, even if other questions are answered. */
const NO_REFUSAL: ReadonlySet<unknown> = new Set([404, 424, 500]);

/** Longest reason of a skipped capability, in characters. */
const MAX_REFUSAL = 500;

/** Makes environments for one capability until one is accepted, and records every attempt. */
export class EnvironmentSearch {
  /** Attempts that have ended, in order. */
  readonly attempts: AttemptRefs[] = [];
  /** Tokens used so far, including those of attempts that an activity's failure ended. */
  readonly tokens: TokenUse[] = [];
  /** Whether the run has a source for this capability. The attempt that wrote it may not have ended. */
  hasSource = false;
  /** Why the capability is skipped, if the analyst refuses to write an environment and nobody is to be asked. */
  refusal: string | null = null;
  /** Whether it is skipped because the analyst declined. */
  isDeclined = false;
  /** How often the analyst declined. A person may have it asked again. */
  private declines = 0;

  /**
   * @param gate waits for a person when a person can correct an attempt's failure.
   * @param edited receives environments that a person edited; the next attempt takes them from there.
   * @param report shows a line about the search in the run's progress table.
   */
  constructor(
    private readonly input: Readonly<SharpenInput>,
    private readonly gate: OperatorGate,
    private readonly edited: EditedEnvironmentSlot,
    private readonly report: (text: string) => Promise<void>,
  ) {}

  /**
   * Makes at most `size` more attempts. It stops at the first accepted one, unless an edited environment waits to be
   * tried. Returns the last attempt. Returns null if a person skips the capability, or if `refusal` says why it is
   * skipped.
   */
  runRound(size: number): Promise<AttemptRefs | null> {
    const start = this.attempts.length;
    return this.gate.runUnlessSkipped(async () => {
      while (this.madeSince(start) < size && (!this.last?.accepted || this.edited.isHeld)) {
        const made = await this.attemptUnlessRefused();
        if (made === null) return null;
        this.attempts.push(made);
      }
      return this.last;
    });
  }

  /**
   * An attempt. Null if agent.yaml says to skip a capability without an environment and the analyst declines, or
   * refuses the question itself: it would do so again.
   */
  private async attemptUnlessRefused(): Promise<AttemptRefs | null> {
    try {
      return await this.attempt();
    } catch (error) {
      const failure = applicationFailureOf(error);
      const [detail] = (failure?.details ?? []) as { status?: unknown }[];
      const isDeclined = failure?.type === DECLINED;
      const isRefused =
        isDeclined ||
        (failure?.type === ('Analyst.BadRequest' satisfies FailureType) && !NO_REFUSAL.has(detail?.status));
      if (!isRefused || this.input.onRejected !== 'skip' || this.edited.hasUntried) throw error;
      this.isDeclined = isDeclined;
      const about = isDeclined ? '' : 'the analyst refused to write an environment: ';
      this.refusal = singleLine(`${about}${messageOf(error)}`, MAX_REFUSAL);
      return null;
    }
  }

  /** Number of attempts since the `start`-th. Attempts of an earlier run cost nothing and do not count. */
  private madeSince(start: number): number {
    return this.attempts.slice(start).filter(({ reusedFrom }) => reusedFrom === undefined).length;
  }

  private get last(): AttemptRefs | null {
    return this.attempts.at(-1) ?? null;
  }

  /** Writes an environment or takes the edited one, then validates and calibrates it. */
  private async attempt(): Promise<AttemptRefs> {
    const attempt = this.attempts.length + 1;
    const before = this.last === null ? '' : ` (before: ${this.last.outcome})`;
    await this.report(`environment, attempt ${attempt}${before}`);
    const edited = this.edited.beginAttempt();
    const { source, reusedFrom } = edited === null ? await this.synthesise(attempt) : { source: edited };
    this.hasSource = true;
    const result = await this.certify(attempt, source, edited !== null);
    this.edited.endAttempt(source);
    return { ...result, ...(reusedFrom !== undefined && { reusedFrom }) };
  }

  /**
   * Asks the analyst for an environment. The outcomes of the previous attempts are its feedback.
   * @throws Analyst.Declined when the analyst declines.
   */
  private async synthesise(attempt: number): Promise<{ source: ArtifactRef; reusedFrom?: string }> {
    const { context, capability, identification, trajectories, labels } = this.input;
    const history = this.attempts.slice(-SHOWN_ATTEMPTS).map((a) => ({ attempt: a.attempt, outcome: a.outcome }));
    const declines = this.declines === 0 ? {} : { declines: this.declines };
    const question = { context, capability, identification, trajectories, labels, attempt, previous: this.last };
    const answer = await llm.synthesiseEnvironment.executeWithOptions(
      { summary: `environment: ${this.nameOf(attempt)}` },
      [{ ...question, history, ...declines }],
    );
    const { model, promptTokens, completionTokens, reusedFrom } = answer;
    this.tokens.push({ stage: 'sharpen', model, promptTokens, completionTokens });
    if (answer.source === null) {
      this.declines++;
      throw ApplicationFailure.nonRetryable(answer.declined, DECLINED);
    }
    return { source: answer.source, ...(reusedFrom !== undefined && { reusedFrom }) };
  }

  /** Validates an environment and, if it is valid, calibrates it with rollouts of the base model. */
  private async certify(attempt: number, source: ArtifactRef, isEdited: boolean): Promise<AttemptRefs> {
    const { context, capability, trajectories, labels } = this.input;
    const environment = { context, capability, source };
    const before = isEdited ? [] : this.attempts.slice(0, COMPARED_ATTEMPTS);
    const compared = before.map((a) => ({ source: a.source, validation: a.validation, calibration: a.calibration }));
    const { passed, problems, playable, detail, certificate } = await sandbox.validateEnvironment.executeWithOptions(
      { summary: `validate: ${this.nameOf(attempt)}` },
      [{ ...environment, trajectories, ...(compared.length > 0 && { before: compared }) }],
    );
    if (!passed) {
      const rollouts = playable ? await this.rollOutRefused(attempt, environment) : null;
      return {
        attempt,
        source,
        validation: detail,
        calibration: null,
        certificate,
        ...(rollouts !== null && { rollouts }),
        accepted: false,
        outcome: wholeWords(`invalid: ${problems.join(' ')}`, ATTEMPT_OUTCOME_CHARS),
      };
    }
    const calibration = await sandbox.calibrateEnvironment.executeWithOptions(
      { summary: `calibrate: ${this.nameOf(attempt)}` },
      [{ ...environment, validation: detail, trajectories, labels }],
    );
    const { promptTokens, completionTokens } = calibration;
    this.tokens.push({ stage: 'sharpen', model: 'base', promptTokens, completionTokens });
    const calibrated = {
      attempt,
      source,
      validation: detail,
      calibration: calibration.detail,
      certificate: calibration.certificate,
      ...(calibration.rollouts !== undefined && { rollouts: calibration.rollouts }),
      ...(calibration.reusedFrom !== undefined && { calibrationFrom: calibration.reusedFrom }),
      accepted: calibration.inBand,
      outcome: calibration.outcome,
    };
    const { toRead } = calibration;
    return calibration.inBand && toRead !== undefined
      ? this.readBlind(calibrated, calibration.detail, toRead)
      : calibrated;
  }

  /** Lets a second reader, who sees neither code nor rewards, judge an environment that is in band. */
  private async readBlind(
    calibrated: AttemptRefs,
    calibration: ArtifactRef,
    toRead: ArtifactRef,
  ): Promise<AttemptRefs> {
    const { context, capability, identification, trajectories, labels } = this.input;
    const { attempt, source, certificate } = calibrated;
    const reading = await llm.readEnvironment.executeWithOptions(
      { summary: `second reader: ${this.nameOf(attempt)}` },
      [
        {
          ...{ context, capability, source, identification, trajectories, labels },
          ...{ attempt, toRead, calibration, certificate },
        },
      ],
    );
    const { model, promptTokens, completionTokens } = reading;
    this.tokens.push({ stage: 'sharpen', model, promptTokens, completionTokens });
    return {
      ...calibrated,
      certificate: reading.certificate,
      reading: reading.detail,
      accepted: reading.passed,
      outcome: reading.passed ? calibrated.outcome : reading.outcome,
    };
  }

  /** The base model's rollouts in an environment that its checks refused. */
  private async rollOutRefused(attempt: number, environment: EnvironmentInput): Promise<ArtifactRef | null> {
    const { rollouts, promptTokens, completionTokens } = await sandbox.rollOutRefused.executeWithOptions(
      { summary: `rollouts for the analyst: ${this.nameOf(attempt)}` },
      [environment],
    );
    this.tokens.push({ stage: 'sharpen', model: 'base', promptTokens, completionTokens });
    return rollouts;
  }

  private nameOf(attempt: number): string {
    return `${nameInSummary(this.input.capability.name)}, attempt ${attempt}`;
  }
}
