/**
 * Who can end a wait. `operator`: whoever runs Whetstone. `owner`: whoever owns the agent. `cluster`: whoever runs the
 * Kubernetes cluster. `nobody`: there is nothing to wait for.
 */
type CuredBy = 'operator' | 'owner' | 'cluster' | 'nobody';

/** What happens after a failure of a run. */
export interface RunFailure {
  /** False: Temporal does not try again by itself. */
  retryable: boolean;
  /**
   * Whom the run waits for when the failure is not, or no longer, tried again. `nobody`: it ends the run, as long as
   * nothing was paid that would be lost (stages prepare and collect); later the run waits for the operator.
   */
  curedBy: CuredBy;
  meaning: string;
  remedy: string;
}
