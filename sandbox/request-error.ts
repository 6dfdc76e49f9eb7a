import { basename } from 'node:path';
import type { EnvironmentErrorBody } from '../contracts/messages/environment-protocol';
import type { EnvironmentProcess } from './environment-process';
import { BadRequest, BadReturn, EnvironmentRaised, NoSuchEpisode, type SandboxError } from './errors';

/** As what the runtime in the jail knows the module, before a line's number. */
const MODULE_PLACE = /\benvironment\.py(?=:\d|, line \d)/g;

/**
 * The error of one request. Where the environment is named by its file, as an agent's own and that of `whet env run`,
 * its places are in that file; one that the analyst wrote is named by its capability.
 */
export function requestError({ name }: Pick<EnvironmentProcess, 'name'>, error: EnvironmentErrorBody): SandboxError {
  const placed = (text: string) => (name.endsWith('.py') ? text.replace(MODULE_PLACE, () => basename(name)) : text);
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
