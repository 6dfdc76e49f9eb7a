/** All keys of the store. They are paths on disk that later versions must find. */
export const layout = {
  run: (runId: string) => `runs/${runId}`,
  trajectories: (runId: string) => `runs/${runId}/trajectories`,
  labels: (runId: string) => `runs/${runId}/labels`,
  capabilities: (runId: string) => `runs/${runId}/capabilities`,
  environments: (runId: string, capabilityId: string) => `runs/${runId}/environments/${capabilityId}`,
  training: (runId: string, job: string) => `runs/${runId}/training/${job}`,
  /** Directory of a trial of the run's trainers. */
  trial: (runId: string, name: string) => `runs/${runId}/trial/${name}`,
  /**
   * Folder of pack `number` of a group of trainings that may share a trainer; it contains the files of that trainer.
   */
  pack: (runId: string, group: string, number: number) => `runs/${runId}/training/packs/${group}-${number}`,
  evaluation: (runId: string) => `runs/${runId}/evaluation`,
  report: (runId: string) => `runs/${runId}/report`,
  study: (studyId: string) => `studies/${studyId}`,
  /** Work file of one activity. Nothing refers to it once the activity is done. */
  work: (runId: string, name: string) => `runs/${runId}/work/${name}.jsonl`,
  /** Label segments of earlier runs from which a label plan was first made. A retry makes the same plan from them. */
  labelSources: (runId: string, labellingRun: number) => `runs/${runId}/work/label-sources-${labellingRun}.json`,
  /** The same for the conversations that a night labels. */
  servedLabelSources: (runId: string, labellingRun: number) =>
    `runs/${runId}/work/served-label-sources-${labellingRun}.json`,
  /** The profile of the agent's own environment, made once for all validations of a run. */
  targetProfile: (runId: string, specSha256: string) =>
    `runs/${runId}/work/target-profile-${specSha256.slice(0, 12)}.json`,
  /** Which tasks a command printed for a run, by the hash of what the command is. A retry takes the same. */
  printedTasks: (runId: string, commandSha256: string) =>
    `runs/${runId}/work/printed-tasks-${commandSha256.slice(0, 12)}.json`,
  /** Labels by (trajectory, capability, prompt, model), shared by all runs of an agent. */
  labelsCache: (agent: string) => `labels-cache/${agent}`,
  /** A run's use of the analyst, summed by all workers. */
  analystUse: (runId: string) => `runs/${runId}/analyst-use.json`,
  /** What a run's simulated users and judges spent, summed by all workers. */
  environmentUse: (runId: string) => `runs/${runId}/environment-use.json`,
  /** The budget that `whet budget` set for a run. */
  budget: (runId: string) => `runs/${runId}/budget.json`,
  /** The rate state of an analyst endpoint, shared by all workers. */
  rate: (endpoint: string) => `rates/${endpoint}.json`,
  /** A folder with a file for each Kubernetes namespace in which the store has had trainings. */
  trainingNamespaces: 'training-namespaces',
  /** Hashes of base model files, so that a model of many gigabytes is read only once. */
  modelFileHashes: 'model-file-hashes.json',
  redactionSecret: 'redaction-secret.json',
  adapters: (agent: string) => `adapters/${agent}`,
  /** Capabilities that earlier runs of the agent found, with their history. */
  dictionary: (agent: string) => `dictionary/${agent}.json`,
  /** Records of results of an agent's runs, by the hash of their inputs. */
  reuse: (agent: string) => `reuse/${agent}`,
  /** The agent's measuring nights: their numbers, and why each continued after its measurement. */
  nights: (agent: string) => `nights/${agent}.json`,
  /** The plan and the decision of one night. */
  night: (runId: string) => `runs/${runId}/night`,
  /** Outcomes of one canary; each gateway process appends to its own file. */
  canary: (agent: string, canaryId: string) => `canary/${agent}/${canaryId}`,
  /** Conversations of live traffic in the trajectory format. */
  traces: (agent: string, day: string) => `traces/${agent}/${day}`,
  /** Conversations that `whet ingest` read. Nothing removes them by their age: they are the owner's only copy here. */
  ingestedConversations: (agent: string) => `ingested/${agent}/conversations`,
  /** Outcomes of conversations, whichever came first. */
  ingestedOutcomes: (agent: string) => `ingested/${agent}/outcomes`,
  /** Lines that `whet ingest` could not read. */
  ingestedRejects: (agent: string) => `ingested/${agent}/rejected`,
  /** The ends of all runs of an agent; this record outlives the runs. */
  history: (agent: string) => `history/${agent}`,
  registry: (agent: string) => `registry/${agent}.json`,
} as const;
