import { AGENT_NAME } from '../contracts/config/agent-name';
import { CliError } from './errors';

/** @throws CliError (exit 2) if what --agent names is no name of an agent. */
export function requireAgentName(name: string): void {
  if (AGENT_NAME.test(name)) return;
  throw new CliError(
    `--agent ${JSON.stringify(name)}: must be lower-case letters, digits and dashes, 1 to 40 characters.`,
    { exitCode: 2, type: 'Cli.Usage' },
  );
}
