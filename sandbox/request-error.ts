import { basename } from 'node:path';
import type { EnvironmentErrorBody } from '../contracts/messages/environment-protocol';
import type { EnvironmentProcess } from './environment-process';
import { SandboxError } from './errors';

/** The module's name in tracebacks of the jail's runtime, before a line number. */
const MODULE_PLACE = /\benvironment\.py(?=:\d|, line \d)/g;

/**
 * The error of one request. For an owner's file, or the file of `whet env run`, it names file and line. For a generated
 * environment it names the capability.
 */
export function requestError({ name }: Pick<EnvironmentProcess, 'name'>, error: EnvironmentErrorBody): SandboxError {
  const placed = (text: string) => (name.endsWith('.py') ? text.replace(MODULE_PLACE, () => basename(name)) : text);
  const traceback = error.traceback && placed(error.traceback);
  const message = `Environment ${name}: ${placed(error.message)}${traceback ? `\n${traceback}` : ''}`;
  // The process itself puts a request off, and is asked again.
  const type = error.type === 'NotRun' ? 'BadRequest' : error.type;
  return new SandboxError(`Sandbox.${type}`, message, { traceback });
}
