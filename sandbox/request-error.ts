import { basename } from 'node:path';
import type { EnvironmentErrorBody } from '../contracts/messages/environment-protocol';
import type { EnvironmentProcess } from './environment-process';
import { BadRequest, BadReturn, EnvironmentRaised, NoSuchEpisode, type SandboxError } from './errors';

/** As what the runtime in the jail knows the module, before a line's number. */
const MODULE_PLACE = /\benvironment\.py(?=:\d|, line \d)/g;

/** The error of one request. An owner finds its places in the file that agent.yaml names. */
export function requestError(
  { name, isolation }: Pick<EnvironmentProcess, 'name' | 'isolation'>,
  error: EnvironmentErrorBody,
): SandboxError {
  const isOwnersFile = (isolation === 'owner-jail' || isolation === 'process') && name.endsWith('.py');
  const placed = (text: string) => (isOwnersFile ? text.replace(MODULE_PLACE, () => basename(name)) : text);
  const traceback = error.traceback && placed(error.traceback);
  const message = `Environment ${name}: ${placed(error.message)}${traceback ? `\n${traceback}` : ''}`;
  switch (error.type) {
    case 'EnvironmentRaised':
      return new EnvironmentRaised(message, traceback);
    case 'BadReturn':
      return new BadReturn(message);
    case 'NoSuchEpisode':
      return new NoSuchEpisode(message);
    default:
      return new BadRequest(message);
  }
}
