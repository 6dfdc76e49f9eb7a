/** What each kind of worker can do. Workflows proxy these interfaces; `activities/` implements them. Types only. */
import type { ArtifactRef } from './artifacts';
import type * as run from './run';
import type { RolloutSummary } from './trajectory';
import type { TrainedAdapter } from './training';

/** Queue `whet-orchestration`: short, local, no model calls. */
export interface OrchestrationActivities {
  /**
   * Reads and checks the spec, freezes it in the store, checks model, analyst and jail. Throws Spec.Invalid,
   * Sandbox.Unavailable, Model.Unreachable.
   */
  prepareRun(input: run.ImprovementRunInput): Promise<run.RunPlan>;
  compareArms(input: run.CompareInput): Promise<run.CompareResult>;
  promoteAdapters(input: run.PromoteInput): Promise<run.PromoteResult>;
  renderReport(input: run.ReportInput): Promise<run.ReportResult>;
  /** Finds the trajectories of a study and freezes its spec. Throws Study.NoTrajectories. */
  prepareStudy(input: run.StudyInput): Promise<run.StudyPlan>;
  /** Adds an identification to what a study has so far. */
  recordIdentification(input: run.StudyRecord): Promise<ArtifactRef>;
  /** Matches the identifications and writes the study's page. */
  renderStudy(input: { plan: run.StudyPlan; recorded: ArtifactRef }): Promise<run.StudyResult>;
}

/** Queue `whet-llm`: calls to the analyst. */
export interface LlmActivities {
  discoverCandidates(input: run.IdentifyInput): Promise<run.DiscoveryResult>;
  planLabels(input: run.PlanLabelsInput): Promise<run.LabelPlan>;
  /** Labels one chunk; writes each label before it heartbeats; a retry resumes and asks nothing twice. */
  labelChunk(input: Omit<run.LabelChunksInput, 'cursor' | 'totals'> & { chunk: number }): Promise<run.LabelChunkResult>;
  /** Merges the labels of one run and says which candidates need another one. Throws Identify.TooManyUnlabelled. */
  tallyRun(input: run.TallyInput): Promise<run.TallyResult>;
  /** Contrasts over all runs, gives verdicts, selects, and writes the agent's dictionary. */
  contrastCapabilities(input: run.ContrastInput): Promise<run.IdentifyResult>;
  synthesiseEnvironment(input: run.SynthesisInput): Promise<run.SynthesisResult>;
}

/** Queue `whet-sandbox`: environments in their processes, rollouts through the model endpoint. */
export interface SandboxActivities {
  /** Throws Collect.TooFewToContrast. */
  collectTrajectories(context: run.RunContext): Promise<RolloutSummary>;
  validateEnvironment(input: run.EnvironmentInput): Promise<run.ValidationResult>;
  calibrateEnvironment(input: run.CalibrationInput): Promise<run.CalibrationOutcome>;
  routeTasks(input: run.RoutingInput): Promise<run.RoutingResult>;
  rollOutArm(input: run.ArmInput): Promise<run.ArmRollouts>;
}

/** Queue `whet-jobs`: training runs. */
export interface JobActivities {
  /** Create or attach: the manifest in the store is the truth. Throws Trainer.*. */
  trainAdapter(input: run.TrainInput): Promise<TrainedAdapter>;
}
