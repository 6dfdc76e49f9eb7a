/**
 * The activities of each task queue. Workflows make proxies of these interfaces; `activities/` implements them. Types
 * only. Every activity may throw the failures of `contracts/failures/run`; named here are those that are its own.
 *
 * `whet repair` executes a completed activity again to restore its artifacts. An activity that would then act
 * differently from the first time takes a `Repetition`.
 */
import type { ArtifactRef } from '../artifacts/artifact-ref';
import type {
  EvaluationArmInput,
  ArmRollouts,
  ChooseRouterInput,
  ChooseRouterResult,
  CompareInput,
  CompareResult,
  PlanEvaluationInput,
  PlanEvaluationResult,
  PromoteInput,
  PromoteResult,
  RoutingInput,
  RoutingResult,
} from './evaluate-stage';
import type {
  ContrastInput,
  DiscoveryResult,
  IdentifyInput,
  IdentifyResult,
  LabelChunkResult,
  LabelChunksInput,
  LabelPlan,
  PlanLabelsInput,
  StudyInput,
  StudyPlan,
  StudyRecord,
  StudyResult,
  TallyInput,
  TallyResult,
} from './identify-stage';
import type {
  DecideNightInput,
  KeepMembersInput,
  NightDecisionResult,
  NightPlanResult,
  ServedTrafficInput,
} from './night-stage';
import type { Repetition } from './repair';
import type {
  AmendedSpec,
  AmendSpecInput,
  EndRecord,
  ImprovementRunInput,
  NoticeInput,
  ReportInput,
  ReportResult,
  RunPlan,
  Turn,
  TurnInput,
} from './run';
import type { RunContext } from './run-context';
import type {
  CalibrationInput,
  CalibrationOutcome,
  EnvironmentInput,
  RefusedRollouts,
  SharpenResult,
  SynthesisInput,
  SynthesisResult,
  TrainInput,
  ValidationInput,
  ValidationResult,
} from './sharpen-stage';
import type { RolloutSummary } from '../artifacts/trajectory';
import type { TrainedAdapter, TrialManifest } from '../artifacts/training';

/** Queue `whet-orchestration`: short, local, no model calls. */
export interface OrchestrationActivities {
  /** Decides whether a run of a schedule begins while other runs of its agent are open. */
  takeTurn(input: TurnInput): Promise<Turn>;
  /** Writes how a run ended that has no report, for `whet history`. */
  recordEnd(input: EndRecord): Promise<ArtifactRef>;
  /** Posts a notice to the agent's webhook. Throws Notify.Refused, Notify.Unreachable. */
  sendNotice(input: NoticeInput): Promise<void>;
  /**
   * Reads and checks the spec, freezes it in the store, and checks that model, analyst and jail work. Throws
   * Spec.Invalid, Sandbox.Unavailable, Model.Unreachable.
   */
  prepareRun(input: ImprovementRunInput): Promise<RunPlan>;
  /** Takes over the fields of the spec that may change while a run waits. Throws Spec.Invalid for other changes. */
  amendSpec(input: AmendSpecInput): Promise<AmendedSpec>;
  /** Decides how the run begins: as a night that measures the active version, or as a first night. */
  planNight(context: RunContext): Promise<NightPlanResult>;
  /** Decides from the measurements whether the night continues. */
  decideNight(input: DecideNightInput): Promise<NightDecisionResult>;
  /** The adapters of the active version whose capabilities the run did not sharpen. */
  keepMembers(input: KeepMembersInput): Promise<SharpenResult[]>;
  /** Compares the arms in pairs over tasks and decides on the gate. */
  compareArms(input: CompareInput): Promise<CompareResult>;
  /** Makes the adapters the next version in the agent's registry. */
  promoteAdapters(input: PromoteInput): Promise<PromoteResult>;
  /** Writes report.html and report.json. */
  renderReport(input: ReportInput, repetition?: Repetition): Promise<ReportResult>;
  /** Finds the trajectories of a study and freezes its spec. Throws Study.NoTrajectories. */
  prepareStudy(input: StudyInput): Promise<StudyPlan>;
  /** Adds one identification to the study's record. Returns the new record. */
  recordIdentification(input: StudyRecord): Promise<ArtifactRef>;
  /** Matches the identifications and writes the study's page. */
  renderStudy(input: { plan: StudyPlan; recorded: ArtifactRef }, repetition?: Repetition): Promise<StudyResult>;
}

/** Queue `whet-llm`: calls to the analyst. */
export interface LlmActivities {
  /** Asks the analyst which capabilities the failures lack, and merges names of the same capability. */
  discoverCandidates(input: IdentifyInput, repetition?: Repetition): Promise<DiscoveryResult>;
  /** Divides the labels of one run into chunks. */
  planLabels(input: PlanLabelsInput, repetition?: Repetition): Promise<LabelPlan>;
  /** Labels one chunk. Writes each label before it heartbeats; a retry continues from there and asks nothing twice. */
  labelChunk(input: Omit<LabelChunksInput, 'cursor' | 'totals'> & { chunk: number }): Promise<LabelChunkResult>;
  /** Merges the labels of one run and finds the candidates that need another. Throws Identify.TooManyUnlabelled. */
  tallyRun(input: TallyInput): Promise<TallyResult>;
  /** Contrasts failures with successes over all runs, judges and selects, and writes the agent's dictionary. */
  contrastCapabilities(input: ContrastInput): Promise<IdentifyResult>;
  /** Asks the analyst for an environment. */
  synthesiseEnvironment(input: SynthesisInput, repetition?: Repetition): Promise<SynthesisResult>;
}

/** Queue `whet-sandbox`: environments in their processes, rollouts through the model endpoint. */
export interface SandboxActivities {
  /** Rolls out the base model on the train tasks and adds live traffic. Throws Collect.TooFewToContrast. */
  collectTrajectories(context: RunContext, repetition?: Repetition): Promise<RolloutSummary>;
  /** Makes the checks of an environment that need no model. */
  validateEnvironment(input: ValidationInput): Promise<ValidationResult>;
  /** Plays a few tasks of an environment that its checks refused, for the analyst. */
  rollOutRefused(input: EnvironmentInput): Promise<RefusedRollouts>;
  /** Rolls out the base model in an environment and measures how hard it is. */
  calibrateEnvironment(input: CalibrationInput): Promise<CalibrationOutcome>;
  /** Finds the rival of the run, and says how small a gain it can prove. */
  planEvaluation(input: PlanEvaluationInput): Promise<PlanEvaluationResult>;
  /** Lets the kinds of routers compete on the train tasks, and writes the winner. */
  chooseRouter(input: ChooseRouterInput): Promise<ChooseRouterResult>;
  /** Asks the router about every held-out task. */
  routeTasks(input: RoutingInput): Promise<RoutingResult>;
  /** Rolls out one arm on the held-out tasks. */
  rollOutArm(input: EvaluationArmInput): Promise<ArmRollouts>;
  /** Adds the live traffic that the active version answered to its rollouts. */
  readServedTraffic(input: ServedTrafficInput, repetition?: Repetition): Promise<RolloutSummary>;
}

/** Queue `whet-jobs`: training runs. */
export interface JobActivities {
  /**
   * Trains an adapter. Returns at once when its manifest is in the store, and attaches to a trainer that already runs.
   * Throws Trainer.*.
   */
  trainAdapter(input: TrainInput): Promise<TrainedAdapter>;
  /**
   * Starts a trainer as a training does, and lets it try the needs of a training: image, store, base model, jail, GPUs.
   * Returns what it found. Throws Trainer.*, Model.Changed.
   */
  tryTraining(context: RunContext): Promise<TrialManifest>;
}
