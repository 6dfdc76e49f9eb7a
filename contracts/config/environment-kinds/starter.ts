/** How `whet init` begins with a benchmark, which is a kind that has a starter. */
export interface Starter {
  /** `environment` of its smallest agent.yaml, without `kind`. */
  section: Readonly<Record<string, unknown>>;
  /**
   * What to do before `whet validate`: commands and sentences. WHET stands for the command, FOLDER for the agent's
   * folder.
   */
  before: readonly string[];
}
