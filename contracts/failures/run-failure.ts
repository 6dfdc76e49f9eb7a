/**
 * The person who can end a wait. `operator`: whoever runs Whetstone. `owner`: whoever owns the agent. `cluster`:
 * whoever runs the Kubernetes cluster. `nobody`: waiting would not help.
 */
type CuredBy = 'operator' | 'owner' | 'cluster' | 'nobody';

/** The reaction to a failure of a run. */
export interface RunFailure {
  /** False: Temporal does not retry by itself. */
  retryable: boolean;
  /**
   * Whom the run waits for when Temporal does not retry, or no longer retries. `nobody`: the failure ends the run in
   * the stages prepare and collect, where nothing was paid yet. In later stages the run waits for the operator.
   */
  curedBy: CuredBy;
  meaning: string;
  remedy: string;
}
