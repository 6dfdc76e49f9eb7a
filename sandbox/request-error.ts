import { basename } from 'node:path';
import type { SandboxFailureType } from '../contracts/failures/sandbox';
import type { EnvironmentErrorBody } from '../contracts/messages/environment-protocol';
import type { EnvironmentProcess } from './environment-process';
import { SandboxError } from './errors';

/** The module's name in tracebacks of the jail's runtime, before a line number. */
const MODULE_PLACE = /\benvironment\.py(?=:\d|, line \d)/g;

const TYPES = {
  BadRequest: 'Sandbox.BadRequest',
  EnvironmentRaised: 'Sandbox.EnvironmentRaised',
  BadReturn: 'Sandbox.BadReturn',
  NoSuchEpisode: 'Sandbox.NoSuchEpisode',
  // The process asks again by itself.
  NotRun: 'Sandbox.BadRequest',
} as const satisfies Record<EnvironmentErrorBody['type'], SandboxFailureType>;

/**
 * The error of one request. For an owner's file, or the file of `whet env run`, it names file and line. For a generated
 * environment it names the capability.
 */
export function requestError({ name }: Pick<EnvironmentProcess, 'name'>, error: EnvironmentErrorBody): SandboxError {
  const placed = (text: string) => (name.endsWith('.py') ? text.replace(MODULE_PLACE, () => basename(name)) : text);
  const traceback = error.traceback && placed(error.traceback);
  const message = `Environment ${name}: ${placed(error.message)}${traceback ? `\n${traceback}` : ''}`;
  return new SandboxError(TYPES[error.type], message, { traceback });
}
