import { isDeepStrictEqual } from 'node:util';
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
  if (!playsOne || state.agentPath === null || state.agentPath === path || spec.analyst.baseUrl !== undefined)
    return null;
  const root = projectRoot();
  const [own, played] = [demoAnalyst(path, root), demoAnalyst(state.agentPath, root)];
  if (isDeepStrictEqual(own, played)) return null;
  const words = `The services that are up play the analyst of ${state.agentPath}, not one of ${path}.`;
  if (own === null) return `${words} Its answers are recorded, and were not written for this agent.`;
  throw new CliError(`${words} Stop them with \`whet down\`, then \`whet up ${path}\`.`, {
    exitCode: 2,
    type: 'Up.OtherAgent',
  });
}
