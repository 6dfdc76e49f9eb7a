/** What each kind of worker can do. Workflows proxy these interfaces; `activities/` implements them. Types only. */
import type { ArtifactRef } from '../artifacts/artifact-ref';
import type {
  EvaluationArmInput,
  ArmRollouts,
  CompareInput,
  CompareResult,
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
import type { ImprovementRunInput, ReportInput, ReportResult, RunPlan } from './run';
import type { RunContext } from './run-context';
import type {
  CalibrationInput,
  CalibrationOutcome,
  EnvironmentInput,
  SynthesisInput,
  SynthesisResult,
  TrainInput,
  ValidationResult,
} from './sharpen-stage';
import type { RolloutSummary } from '../artifacts/trajectory';
import type { TrainedAdapter } from '../artifacts/training';

/** Queue `whet-orchestration`: short, local, no model calls. */
export interface OrchestrationActivities {
  /**
   * Reads and checks the spec, freezes it in the store, checks model, analyst and jail. Throws Spec.Invalid,
   * Sandbox.Unavailable, Model.Unreachable.
   */
  prepareRun(input: ImprovementRunInput): Promise<RunPlan>;
  compareArms(input: CompareInput): Promise<CompareResult>;
  promoteAdapters(input: PromoteInput): Promise<PromoteResult>;
  renderReport(input: ReportInput): Promise<ReportResult>;
  /** Finds the trajectories of a study and freezes its spec. Throws Study.NoTrajectories. */
  prepareStudy(input: StudyInput): Promise<StudyPlan>;
  /** Adds an identification to what a study has so far. */
  recordIdentification(input: StudyRecord): Promise<ArtifactRef>;
  /** Matches the identifications and writes the study's page. */
  renderStudy(input: { plan: StudyPlan; recorded: ArtifactRef }): Promise<StudyResult>;
}

/** Queue `whet-llm`: calls to the analyst. */
export interface LlmActivities {
  discoverCandidates(input: IdentifyInput): Promise<DiscoveryResult>;
  planLabels(input: PlanLabelsInput): Promise<LabelPlan>;
  /** Labels one chunk; writes each label before it heartbeats; a retry resumes and asks nothing twice. */
  labelChunk(input: Omit<LabelChunksInput, 'cursor' | 'totals'> & { chunk: number }): Promise<LabelChunkResult>;
  /** Merges the labels of one run and says which candidates need another one. Throws Identify.TooManyUnlabelled. */
  tallyRun(input: TallyInput): Promise<TallyResult>;
  /** Contrasts over all runs, gives verdicts, selects, and writes the agent's dictionary. */
  contrastCapabilities(input: ContrastInput): Promise<IdentifyResult>;
  synthesiseEnvironment(input: SynthesisInput): Promise<SynthesisResult>;
}

/** Queue `whet-sandbox`: environments in their processes, rollouts through the model endpoint. */
export interface SandboxActivities {
  /** Throws Collect.TooFewToContrast. */
  collectTrajectories(context: RunContext): Promise<RolloutSummary>;
  validateEnvironment(input: EnvironmentInput): Promise<ValidationResult>;
  calibrateEnvironment(input: CalibrationInput): Promise<CalibrationOutcome>;
  routeTasks(input: RoutingInput): Promise<RoutingResult>;
  rollOutArm(input: EvaluationArmInput): Promise<ArmRollouts>;
}

/** Queue `whet-jobs`: training runs. */
export interface JobActivities {
  /** Create or attach: the manifest in the store is the truth. Throws Trainer.*. */
  trainAdapter(input: TrainInput): Promise<TrainedAdapter>;
}
