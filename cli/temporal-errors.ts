import {
  type Client,
  defaultGrpcRetryOptions,
  isGrpcServiceError,
  makeGrpcRetryInterceptor,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { NamespaceNotFoundError } from '@temporalio/common';
import { SEARCH_ATTRIBUTES } from '../contracts/names';
import { registerCommand } from '../contracts/search-attributes';
import { CliError } from './errors';

/** Time limit for the server's answer to one question of a command. */
const ANSWER_MS = 15_000;

/** gRPC status codes that concern the server, not the request. */
const CODES = { cancelled: 1, deadline: 4, notFound: 5, denied: 7, unavailable: 14, unauthenticated: 16 } as const;

/** A restarting server is asked again for about two seconds; longer trouble is reported. */
export const fewRetries = () => [makeGrpcRetryInterceptor(defaultGrpcRetryOptions({ maxAttempts: 5 }))];

/** Asks the server questions that must be answered within fifteen seconds in total. */
export const promptly = <T>(client: Client, ask: () => Promise<T>): Promise<T> =>
  client.withDeadline(Date.now() + ANSWER_MS, ask);

interface ServerError {
  code: number;
  details: string;
}

/** The server's error in an error or in its causes; null if the error is not the server's. */
export function serverError(error: unknown): ServerError | null {
  for (let cause = error; cause !== null && cause !== undefined; cause = (cause as { cause?: unknown }).cause)
    if (isGrpcServiceError(cause)) return { code: cause.code, details: cause.details || cause.message };
  return null;
}

/** Whether the server does not answer at the moment, or has its own trouble: later it may answer. */
export function isTroubleOfServer(error: unknown): boolean {
  const found = serverError(error);
  return found !== null && (isSilent(found) || troubleOfDatabase(found.details) !== null);
}

const isSilent = ({ code }: ServerError): boolean =>
  code === CODES.unavailable || code === CODES.deadline || code === CODES.cancelled;

/** The problem of the server's database; null if its message does not mention one. */
function troubleOfDatabase(details: string): string | null {
  if (/disk is full|no space left|SQLITE_FULL/i.test(details))
    return 'cannot write because its disk is full. Free space there: it goes on by itself';
  if (/disk I\/O error|readonly database|read-only/i.test(details))
    return 'cannot write its database. Look at its disk; then restart the server (`whet down`, `whet up`)';
  if (/no such table|unable to open database|malformed|not a database|database is closed/i.test(details))
    return (
      'has lost its database. Restore it from a backup, or start it again without it (`whet down`, `whet up`); ' +
      'results that runs have written stay in the store'
    );
  return null;
}

/** The server that a command uses. */
export interface Server {
  address: string;
  namespace: string;
}

/**
 * The sentence for an error of the Temporal server: address, reason, remedy. Null for an error that does not come from
 * it.
 */
export function explainTemporalError(error: unknown, { address, namespace }: Server): CliError | null {
  const where = `The Temporal server at ${address}`;
  if (error instanceof WorkflowNotFoundError)
    return new CliError(
      `There is no run ${error.workflowId} at ${address}, namespace ${namespace}. \`whet ls\` lists the runs.`,
      { type: 'Run.NotFound', cause: error },
    );
  const found = error instanceof NamespaceNotFoundError ? NO_NAMESPACE : serverError(error);
  if (found === null) return null;
  const details = found.details.replace(/\.$/, '');
  const database = troubleOfDatabase(details);
  if (database !== null)
    return new CliError(`${where} ${database} (it says: ${details}).`, { type: 'Temporal.Failed', cause: error });
  if (isSilent(found))
    return new CliError(
      `${where} gives no answer (${details}). Runs are not lost: they go on when it is back. ` +
        'If `whet up` started it, look at `whet status`, and at logs/temporal.log in the state directory.',
      { type: 'Temporal.Unreachable', cause: error },
    );
  if (isNamespaceMissing(found))
    return new CliError(
      `${where} has no namespace ${namespace}. Correct TEMPORAL_NAMESPACE, or make it: ` +
        `temporal operator namespace create --address ${address} --namespace ${namespace}. ` +
        'If it was there before, the server has lost its database: restore that from a backup.',
      { type: 'Temporal.NamespaceMissing', cause: error },
    );
  if (/search attribute/i.test(details)) return attributesMissing({ address, namespace }, undefined, error);
  if (found.code === CODES.denied || found.code === CODES.unauthenticated)
    return new CliError(
      `${where} refuses this client in namespace ${namespace} (${details}). Check TEMPORAL_ADDRESS and ` +
        'TEMPORAL_NAMESPACE, and the rights of this client there.',
      { type: 'Temporal.Failed', cause: error },
    );
  return new CliError(`${where} answered: ${details}.`, { type: 'Temporal.Failed', cause: error });
}

const NO_NAMESPACE: ServerError = { code: CODES.notFound, details: 'namespace not found' };

const isNamespaceMissing = ({ code, details }: ServerError): boolean =>
  code === CODES.notFound && /namespace/i.test(details);

/** The error of a namespace that lacks search attributes of runs. */
export const attributesMissing = (
  { address, namespace }: Server,
  missing: readonly string[] = Object.values(SEARCH_ATTRIBUTES),
  cause?: unknown,
): CliError =>
  new CliError(
    `The namespace ${namespace} of the Temporal server at ${address} lacks search attributes of runs ` +
      `(${missing.join(', ')}), so no run can start there. A worker of this version registers them when it starts; ` +
      `by hand: ${registerCommand(namespace, missing)}`,
    { type: 'Temporal.AttributesMissing', cause },
  );
