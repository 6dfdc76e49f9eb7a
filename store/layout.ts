/** Keys of the store, in one place. */
export const layout = {
  run: (runId: string) => `runs/${runId}`,
  trajectories: (runId: string) => `runs/${runId}/trajectories`,
  labels: (runId: string) => `runs/${runId}/labels`,
  capabilities: (runId: string) => `runs/${runId}/capabilities`,
  environments: (runId: string, capabilityId: string) => `runs/${runId}/environments/${capabilityId}`,
  training: (runId: string, job: string) => `runs/${runId}/training/${job}`,
  evaluation: (runId: string) => `runs/${runId}/evaluation`,
  report: (runId: string) => `runs/${runId}/report`,
  study: (studyId: string) => `studies/${studyId}`,
  /** Work files of one activity; not referred to by anything once the activity is done. */
  work: (runId: string, name: string) => `runs/${runId}/work/${name}.jsonl`,
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
