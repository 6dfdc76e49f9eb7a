import { projectRoot } from '../contracts/project-root';
import type { Agent } from './agent';
import { CliError } from './errors';
import { demoAnalyst } from './supervisor/plan';
import type { SupervisorState } from './supervisor/supervisor-state';

/**
 * What a run has to be told where the services play the analyst of another agent: its answers know nothing of this one,
 * and a run that believes them ends with a wrong diagnosis. Null: nothing.
 * @param state of the services that are up; null: none are.
 * @throws CliError Up.OtherAgent, exit code 2, where the agent has recorded answers of its own.
 */
export function otherAnalyst({ path, spec }: Agent, state: SupervisorState | null): string | null {
  const playsOne = state?.services.some(({ name }) => name === 'analyst') === true;
  if (!playsOne || state.agentPath === null) return null;
  const { isOnly = false, recorded = null } = state.analyst ?? {};
  if (!isOnly && (state.agentPath === path || spec.analyst.baseUrl !== undefined)) return null;
  const root = projectRoot();
  const [own, ofAgent] = [path, state.agentPath].map((one) => answersOf(one, root));
  if (own === (isOnly ? recorded : ofAgent)) return null;
  const words = `The services that are up play the analyst of ${isOnly ? recorded : state.agentPath}, not one of ${path}.`;
  if (own == null) return `${words} Its answers are recorded, and were not written for this agent.`;
  throw new CliError(`${words} Stop them with \`whet down\`, then \`whet up ${path}\`.`, {
    exitCode: 2,
    type: 'Up.OtherAgent',
  });
}

/** Where the recorded answers of an agent.yaml are, or the program that answers; null if it has none. */
function answersOf(path: string, root: string): string | null {
  const found = demoAnalyst(path, root);
  return found === null ? null : (found.assets ?? found.script);
}
