/**
 * The activities of each task queue. Workflows make proxies of these interfaces; `activities/` implements them. Types
 * only. Every activity may throw the failures of `contracts/failures/run`; the comments name only the specific ones.
 *
 * `whet repair` executes a completed activity again to restore its artifacts. An activity that must act differently on
 * such a repetition takes a `Repetition`.
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
  ContrastResult,
  DiscoveryResult,
  ExperimentInput,
  IdentifyInput,
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
  ReadingInput,
  ReadingOutcome,
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
  /** Decides whether a scheduled run begins although other runs of its agent are open. */
  takeTurn(input: TurnInput): Promise<Turn>;
  /** For `whet history`, records how a run without a report ended. */
  recordEnd(input: EndRecord): Promise<ArtifactRef>;
  /** Posts a notice to the agent's webhook. Throws Notify.Refused, Notify.Unreachable. */
  sendNotice(input: NoticeInput): Promise<void>;
  /**
   * Reads and checks the spec, freezes it in the store, and checks that model, analyst and jail work. Throws
   * Spec.Invalid, Sandbox.Unavailable, Model.Unreachable.
   */
  prepareRun(input: ImprovementRunInput): Promise<RunPlan>;
  /** Applies the fields of the spec that may change while a run waits. Throws Spec.Invalid for other changes. */
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
  /**
   * Labels one chunk. It writes each label before it heartbeats; a retry continues from there and asks nothing twice.
   */
  labelChunk(input: Omit<LabelChunksInput, 'cursor' | 'totals'> & { chunk: number }): Promise<LabelChunkResult>;
  /** Merges the labels of one run and finds the candidates that need another run. Throws Identify.TooManyUnlabelled. */
  tallyRun(input: TallyInput): Promise<TallyResult>;
  /**
   * Contrasts failures with successes over all runs, judges and selects candidates, and writes the agent's dictionary,
   * unless experiments are to be played first.
   */
  contrastCapabilities(input: ContrastInput): Promise<ContrastResult>;
  /** Asks the analyst for an environment. */
  synthesiseEnvironment(input: SynthesisInput, repetition?: Repetition): Promise<SynthesisResult>;
  /** Asks the analyst for labels of an environment's rollouts, and compares them with the rewards. */
  readEnvironment(input: ReadingInput, repetition?: Repetition): Promise<ReadingOutcome>;
}

/** Queue `whet-sandbox`: environments in their processes, rollouts through the model endpoint. */
export interface SandboxActivities {
  /** Rolls out the base model on the train tasks and adds live traffic. Throws Collect.TooFewToContrast. */
  collectTrajectories(context: RunContext, repetition?: Repetition): Promise<RolloutSummary>;
  /** Tries the steps of candidates in rollouts of the base model. Returns JSON of Experiments. */
  playExperiments(input: ExperimentInput): Promise<ArtifactRef>;
  /** Runs the checks of an environment that need no model. */
  validateEnvironment(input: ValidationInput): Promise<ValidationResult>;
  /** For the analyst, plays a few tasks of an environment that failed its checks. */
  rollOutRefused(input: EnvironmentInput): Promise<RefusedRollouts>;
  /** Plays rollouts of the base model in an environment and measures its difficulty. */
  calibrateEnvironment(input: CalibrationInput): Promise<CalibrationOutcome>;
  /** Finds the rival of the run, and computes the smallest gain that it can prove. */
  planEvaluation(input: PlanEvaluationInput): Promise<PlanEvaluationResult>;
  /** Lets the kinds of routers compete on the train tasks, and writes the winner. */
  chooseRouter(input: ChooseRouterInput): Promise<ChooseRouterResult>;
  /** Asks the router about every held-out task. */
  routeTasks(input: RoutingInput): Promise<RoutingResult>;
  /** Rolls out one arm on the held-out tasks. */
  rollOutArm(input: EvaluationArmInput): Promise<ArmRollouts>;
  /** Adds the live traffic that the active version answered to that version's rollouts. */
  readServedTraffic(input: ServedTrafficInput, repetition?: Repetition): Promise<RolloutSummary>;
}

/** Queue `whet-jobs`: training runs. */
export interface JobActivities {
  /**
   * Trains an adapter. It returns at once if the manifest is in the store, and attaches to a running trainer. Throws
   * Trainer.*.
   */
  trainAdapter(input: TrainInput): Promise<TrainedAdapter>;
  /**
   * Starts a trainer as for a training, and lets it test the needs of a training: image, store, base model, jail, GPUs.
   * Returns its findings. Throws Trainer.*, Model.Changed.
   */
  tryTraining(context: RunContext): Promise<TrialManifest>;
}
