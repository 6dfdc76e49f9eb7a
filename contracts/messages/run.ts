/**
 * Messages of a run as a whole. The stages have their own files. Types only, so that workflow code may import them.
 * Large values are references.
 */
import type { ArtifactRef } from '../artifacts/artifact-ref';
import type { IdentifyArm } from '../artifacts/identification';
import type { RunEnd, RunOutcome, StageName, WaitingFor } from '../names';
import type { ArmRollouts, CompareResult } from './evaluate-stage';
import type { IdentifyResult } from './identify-stage';
import type { RunContext, StageTiming } from './run-context';
import type { SharpenResult } from './sharpen-stage';
import type { TrainedAdapter } from '../artifacts/training';
import type { RolloutSummary } from '../artifacts/trajectory';

/** Input of `improvementRun`. */
export interface ImprovementRunInput {
  /** It is also the workflow id. Empty in a schedule: the server gives its runs their workflow ids. */
  runId: string;
  agent: string;
  /** Absolute path of agent.yaml on the worker's machine. Read once, by `prepareRun`. */
  specPath: string;
  /** The run sets it itself if a schedule started it. */
  scheduled?: boolean;
  /** Replaces `seed` of the spec. */
  seed?: number;
  /** Replaces `identify.arm` of the spec. */
  arm?: IdentifyArm;
  /** Replaces `identify.ablations` of the spec. */
  ablations?: boolean;
  /** The last stage before the report. Absent: all stages. A scheduled run has all. */
  until?: RunEnd;
}

/** The part of the spec that the workflow needs; `prepareRun` reads it. */
export interface RunPlan {
  context: RunContext;
  /** Environment attempts in one round. */
  maxAttempts: number;
  /** Whether to train and evaluate one adapter on all environments, for comparison. */
  mixedAdapter: boolean;
  /** Whether a person must approve the promotion. */
  approval: boolean;
  /** Reaction when no environment of a capability passes: wait for a person, or skip the capability. */
  onRejected: 'wait' | 'skip';
  deadlines: WaitDeadlines;
  /** Whether a webhook is notified when the run waits or ends. */
  notify: boolean;
  /** Nothing is played: there are conversations, and no tasks. Absent: tasks are played. */
  plays?: false;
}

/** Maximum waiting times of a run, in milliseconds. */
export interface WaitDeadlines {
  approvalMs: number;
  /**
   * The limit for an answer to a failure, and for a repeated failure. Null: no limit, because no schedule started the
   * run.
   */
  holdMs: number | null;
}

/** Input of `takeTurn`. */
export type TurnInput = Pick<ImprovementRunInput, 'runId' | 'agent' | 'specPath'>;

/** Result of `takeTurn`: whether a scheduled run begins in parallel with the agent's other runs. */
export interface Turn {
  begins: boolean;
  /** Sentences that say why it does not begin, or which runs are open in parallel. Empty when nothing else is open. */
  reason: string;
  /** Earlier runs of the schedule that only wait for an answer: they end, because this one begins. */
  takesOver: string[];
  /** They hold until `prepareRun` has ended. */
  deadlines: WaitDeadlines;
  notify: boolean;
}

/** Argument of the signal `giveWay`. */
export interface GiveWay {
  /** The run that begins. */
  to: string;
}

/** The end of a run that has no report. */
export interface EndRecord {
  runId: string;
  agent: string;
  outcome: RunOutcome;
  /** Sentences. */
  reasons: string[];
  startedAtMs: number;
  endedAtMs: number;
}

/** A message for people. Each text is one line and may quote the agent, the analyst or a model. */
export interface Notice {
  kind: 'waits' | 'fails' | 'costs' | 'ended';
  /** The key of the wait or the failure; null for the end of a run. */
  key: string | null;
  who: WaitingFor | null;
  outcome: RunOutcome | null;
  reasons: string[];
  promotedVersion: number | null;
  atMs: number;
}

/** Input of `deliverNotice`. */
export interface NoticeInput {
  /** Unique id of the notice. A receiver that gets a notice twice recognises it by this id. */
  id: string;
  runId: string;
  agent: string;
  /** JSON of `PreparedSpec`; null before the run has one. */
  spec: ArtifactRef | null;
  /** Absolute path of agent.yaml on the worker's machine; used if `spec` is null. */
  specPath: string;
  notice: Notice;
}

/** All inputs of the report. */
export interface ReportInput {
  context: RunContext;
  verdict: RunOutcome;
  collected: RolloutSummary;
  identified: IdentifyResult;
  sharpened: SharpenResult[];
  mixed: TrainedAdapter | null;
  arms: ArmRollouts[];
  comparison: CompareResult | null;
  routing: ArtifactRef | null;
  /** JSON of Router. Absent: nothing was evaluated. */
  router?: ArtifactRef;
  promotedVersion: number | null;
  stages: StageTiming[];
  /**
   * The run's measurement of the active version, before all stages. `learned` has the version's rollouts with the live
   * traffic that joined them; absent if none joined.
   */
  night?: { decision: ArtifactRef; base: ArmRollouts; served: ArmRollouts; learned?: RolloutSummary };
  /** JSON of NightPlan, with the cost of a changed base model. Absent if there is no such cost. */
  plan?: ArtifactRef;
  /** Sentences about waits that ended without an answer. Absent: none. */
  unanswered?: string[];
  /** Sentences about runs that were open when it began. Absent: there were none, or no schedule started the run. */
  beside?: string;
}

/** Where the report is. The names of the artifacts carry their hash. */
export interface ReportResult {
  html: ArtifactRef;
  json: ArtifactRef;
  /** Absolute directory with copies named report.html and report.json, for people. */
  directory: string;
}

/** Result of `improvementRun`. */
export interface ImprovementRunResult {
  runId: string;
  verdict: RunOutcome;
  /** Why the adapters were promoted or not, one sentence for each reason. */
  reasons: string[];
  /** The comparison in one line; empty when nothing was evaluated. */
  summary: string;
  promotedVersion: number | null;
  /** Null for a night that was skipped. */
  reportDirectory: string | null;
}

/** Answer to the progress query: the progress table as data. Every text is one line. */
export interface RunProgress {
  runId: string;
  agent: string;
  stages: {
    name: StageName;
    status: 'waiting' | 'running' | 'done' | 'skipped' | 'failed' | 'cancelled' | 'paused';
    detail: string;
    seconds: number | null;
  }[];
  /** Why the run waits for a person, with the commands that answer it, one line each. Null when it does not wait. */
  waitingFor: string | null;
  /** The same, in parts. */
  waits: RunWait[];
  /** Activities that fail repeatedly, but continue without a person once the cause is gone. */
  failing: RepeatedFailure[];
}

/** A part of a run that waits for a person. */
export interface RunWait {
  /** The key in `whet retry RUN KEY`: a stage, `mixed`, or the id of a capability. */
  key: string;
  /** Why it waits, and the commands that answer it. */
  reason: string;
  /** Milliseconds since 1970. */
  sinceMs: number;
  /** The deadline, in milliseconds since 1970. Absent: never. */
  untilMs?: number;
  who: WaitingFor;
}

/** An activity whose attempts fail again and again, as its worker reports it. */
export interface FailureReport {
  /** The place: a stage, or the id of a capability, with the activity type. */
  key: string;
  /** Attempts that failed. */
  attempts: number;
  /** When the first attempt was scheduled, in milliseconds since 1970. */
  sinceMs: number;
  /** The failure of the last attempt. */
  reason: string;
  /** True if the last attempt made progress before it failed, judged by its duration. */
  gotOn: boolean;
}

/** The failure, as the run shows it. */
export interface RepeatedFailure extends FailureReport {
  /**
   * Since this time, no attempt has made progress as far as reports show. The deadline counts from here. Milliseconds
   * since 1970.
   */
  stillSinceMs: number;
}

/** Argument of the signal `note`, from a child workflow or an activity to its run. */
export interface StageStatus {
  /** A stage, or the id of a capability. */
  key: string;
  /** Its current work, in one line. Empty: the last line stays. */
  text: string;
  /** Why it waits for a person; null when it does not. */
  waitingFor: string | null;
  /** Whom it waits for. Default: the operator. */
  who?: WaitingFor;
}

/** Argument of the signal `failing`, from a worker to the run: an activity keeps failing, or has recovered. */
export type FailingStatus = FailureReport | { key: string; attempts: null };

/** Argument of the signal `edit`: an environment that a person edited, for the next attempt. */
export interface EditedEnvironment {
  capabilityId: string;
  /** Python source. */
  source: ArtifactRef;
}

/** Argument of the signals `retry` and `skip`. */
export interface OperatorAnswer {
  /** The capability that waits. Absent: identification waits. */
  capabilityId?: string;
  /** From a run to its child: the frozen spec from now on. Absent: the child keeps its spec. */
  spec?: ArtifactRef;
}

/** Argument of the update `answer`. */
export interface AnswerInput {
  answer: 'retry' | 'skip';
  /** The key of the `RunWait` to answer. Absent: everything that waits, for `retry` only. */
  key?: string;
  /** Absolute path, on the worker's machine, of an agent.yaml whose changes the run applies. */
  specPath?: string;
}

/** Result of the update `answer`. */
export interface AnswerResult {
  /** Keys of the waits that ended, so that their parts continue. */
  answered: string[];
  /** Paths of the fields of agent.yaml that changed; empty without `specPath`. */
  changed: string[];
}

/** Input of `amendSpec`. */
export interface AmendSpecInput {
  context: RunContext;
  /** Absolute path of the corrected agent.yaml on the worker's machine. */
  specPath: string;
}

/** Result of `amendSpec`. */
export interface AmendedSpec {
  /** JSON of `PreparedSpec`. */
  spec: ArtifactRef;
  /** Paths of the fields that changed. */
  changed: string[];
  /** The deadlines of the new spec, for a scheduled run. */
  deadlines: WaitDeadlines;
}
