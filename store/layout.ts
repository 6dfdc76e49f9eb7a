/** Keys of the store, in one place. */
export const layout = {
  run: (runId: string) => `runs/${runId}`,
  trajectories: (runId: string) => `runs/${runId}/trajectories`,
  labels: (runId: string) => `runs/${runId}/labels`,
  capabilities: (runId: string) => `runs/${runId}/capabilities`,
  environments: (runId: string, capabilityId: string) => `runs/${runId}/environments/${capabilityId}`,
  training: (runId: string, job: string) => `runs/${runId}/training/${job}`,
  /**
   * Pack `number` of the trainings that may share a trainer; the folder holds what belongs to the trainer as a whole.
   */
  pack: (runId: string, group: string, number: number) => `runs/${runId}/training/packs/${group}-${number}`,
  evaluation: (runId: string) => `runs/${runId}/evaluation`,
  report: (runId: string) => `runs/${runId}/report`,
  study: (studyId: string) => `studies/${studyId}`,
  /** Work files of one activity; not referred to by anything once the activity is done. */
  work: (runId: string, name: string) => `runs/${runId}/work/${name}.jsonl`,
  /** What the agent's environment looks like, read once for all validations of a run. */
  targetProfile: (runId: string, specSha256: string) =>
    `runs/${runId}/work/target-profile-${specSha256.slice(0, 12)}.json`,
  /** Labels by (trajectory, capability, prompt, model), shared by all runs of an agent. */
  labelsCache: (agent: string) => `labels-cache/${agent}`,
  /** What a run has used of the analyst, added up by all workers. */
  analystUse: (runId: string) => `runs/${runId}/analyst-use.json`,
  /** What `whet budget` allowed a run. */
  budget: (runId: string) => `runs/${runId}/budget.json`,
  /** The pace of an endpoint, shared by all workers. */
  rate: (endpoint: string) => `rates/${endpoint}.json`,
  redactionSecret: 'redaction-secret.json',
  adapters: (agent: string) => `adapters/${agent}`,
  /** Capabilities that the agent's runs know, with their history. */
  dictionary: (agent: string) => `dictionary/${agent}.json`,
  /** Outcomes of one canary; each gateway process appends to a file of its own. */
  canary: (agent: string, canaryId: string) => `canary/${agent}/${canaryId}`,
  /** Conversations of live traffic in the trajectory format. */
  traces: (agent: string, day: string) => `traces/${agent}/${day}`,
  registry: (agent: string) => `registry/${agent}.json`,
} as const;
