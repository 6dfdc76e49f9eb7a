import { pluralise } from '../../contracts/pluralise';
import { forget } from '../../ingest';
import { LocalStore } from '../../store';
import { requireAgentName } from '../agent-name';
import type { Context } from '../context';
import { CliError } from '../errors';

/**
 * `whet forget --agent NAME --conversation ID`: removes an ingested conversation, all its versions and outcomes, and
 * the lines of the agent's files that could not be read. Runs keep the copies that they have made of it.
 * @throws CliError (exit 2) for an agent's name that is none, or a conversation that is not there.
 */
export async function forgetCommand(
  { settings, out }: Context,
  { agent, conversation }: { agent: string; conversation: string },
): Promise<void> {
  const fail = (message: string) => new CliError(message, { exitCode: 2, type: 'Cli.Usage' });
  requireAgentName(agent);
  const gone = await forget(new LocalStore(settings.storeRoot), agent, conversation);
  if (gone.conversations + gone.outcomes === 0)
    throw fail(`--conversation ${JSON.stringify(conversation)}: ${agent} has no ingested conversation of this id.`);
  out.result(
    { agent, conversation, ...gone },
    `${agent}: removed ${pluralise(gone.conversations, 'version')} of the conversation and ` +
      `${pluralise(gone.outcomes, 'outcome')}. Runs that used it keep their copies until \`whet gc\` removes them.`,
  );
}
