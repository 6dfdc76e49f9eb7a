import { refusedCommand } from '../activities/prepare/refused-command';
import type { AgentSpec } from '../contracts/config/agent-spec';
import { loadOperatorPolicy } from '../loaders/operator-policy';

/**
 * What a worker with the variables of this process refuses of an agent's commands: lines as of `refusedCommand`. Null:
 * nothing. The person who validates runs their own commands here, so that it stops nothing.
 */
export function refusedInRuns(spec: AgentSpec, agentPath: string): string | null {
  const { WHET_POLICY: file = '', WHET_OWN_FOLDERS: own = '', TEMPORAL_ADDRESS: address = '' } = process.env;
  // `whet up` allows the agent's own folder where it starts the Temporal server as well.
  const allowsOwnFolders = own === 'allowed' || address === '';
  try {
    const policy = file === '' ? null : { file, policy: loadOperatorPolicy(file) };
    return refusedCommand(policy, spec, agentPath, allowsOwnFolders);
  } catch (error) {
    return `WHET_POLICY: ${(error as Error).message}`;
  }
}
