import { Client, Connection, defaultPayloadConverter } from '@temporalio/client';
import { missingSearchAttributes } from '../contracts/search-attributes';
import { CliError } from './errors';
import { localTrouble, workerNotReady } from './local-services';
import { refuses } from './supervisor/ports';
import { askSupervisor, readSupervisorState } from './supervisor/supervisor-state';
import {
  attributesMissing,
  explainTemporalError,
  fewRetries,
  isTroubleOfServer,
  promptly,
  serverError,
} from './temporal-errors';
import type { Settings } from './settings';

/** An open connection with its client. The caller that opened it must call `close`. */
export interface Temporal {
  client: Client;
  connection: Connection;
  address: string;
  namespace: string;
  close(): Promise<void>;
}

/** TEMPORAL_ADDRESS, else the server that `whet up` started here, else Temporal's usual local address. */
export async function temporalAddress({ temporalAddress: own, home, ports }: Settings): Promise<string> {
  if (own !== null) return own;
  const state = (await askSupervisor(home)) ?? readSupervisorState(home);
  return state?.temporal.address ?? `127.0.0.1:${ports.temporal}`;
}

/** Opens a connection. @throws CliError if nothing answers there. */
async function connectTemporal(settings: Settings): Promise<Temporal> {
  const address = await temporalAddress(settings);
  const namespace = settings.temporalNamespace;
  try {
    await requireListener(address);
    const connection = await Connection.connect({ address, connectTimeout: '20s', interceptors: fewRetries() });
    return {
      client: new Client({ connection, namespace }),
      connection,
      address,
      namespace,
      close: () => connection.close(),
    };
  } catch (error) {
    const local = await localTrouble(settings, address);
    if (local.length > 0)
      throw new CliError([`No Temporal server answers at ${address}.`, ...local].join('\n'), {
        type: 'Temporal.Unreachable',
        cause: error,
      });
    throw new CliError(
      settings.temporalAddress === null
        ? `No Temporal server answers at ${address}. Start one with \`whet up AGENT_YAML\`, ` +
            'or set TEMPORAL_ADDRESS to the address of yours.'
        : `No Temporal server answers at ${address}, the value of TEMPORAL_ADDRESS. Start that server, correct the ` +
            'variable, or unset it: `whet up AGENT_YAML` then starts a server here.',
      { type: 'Temporal.Unreachable', cause: error },
    );
  }
}

/**
 * Checks a server that the user named before anything is started that needs it: it must answer and have the namespace.
 * Other errors of the server are no reason to refuse, because a client that may not read namespaces can still be a
 * worker.
 * @throws CliError `Temporal.Unreachable`, `Temporal.NamespaceMissing`.
 */
export async function requireOwnServer(settings: Settings): Promise<void> {
  await withTemporal(settings, ({ client, connection, namespace }) =>
    promptly(client, () => connection.workflowService.describeNamespace({ namespace })),
  ).catch((error: unknown) => {
    if (error instanceof CliError && error.type === 'Temporal.Failed') return;
    throw error;
  });
}

/** Fails at once if nobody listens; the client alone would use its whole time limit. A busy server gets that time. */
async function requireListener(address: string): Promise<void> {
  const colon = address.lastIndexOf(':');
  const host = address.slice(0, colon).replace(/^\[|\]$/g, '');
  const port = Number(address.slice(colon + 1));
  if (colon > 0 && Number.isInteger(port) && (await refuses(host, port)))
    throw new Error(`Nobody listens at ${address}.`);
}

/** Opens a connection, passes it to `action` and closes it. @throws CliError for errors of the server. */
export async function withTemporal<T>(settings: Settings, action: (temporal: Temporal) => Promise<T>): Promise<T> {
  const temporal = await connectTemporal(settings);
  try {
    return await action(temporal);
  } catch (error) {
    throw await explained(error, temporal, settings);
  } finally {
    await temporal.close();
  }
}

/** The sentence for an error of the server; the services on this machine may know more than the server says. */
async function explained(error: unknown, temporal: Temporal, settings: Settings): Promise<unknown> {
  const sentence = explainTemporalError(error, temporal) ?? (error instanceof CliError ? error : null);
  if (sentence?.type === 'Temporal.AttributesMissing')
    return (await workerNotReady(settings, temporal.address)) ?? sentence;
  if (sentence === null || !isTroubleOfServer(error)) return sentence ?? error;
  const local = await localTrouble(settings, temporal.address);
  if (local.length === 0) return sentence;
  return new CliError([sentence.message, ...local].join('\n'), { type: 'Temporal.Unreachable', cause: error });
}

/**
 * Checks that runs can start in the namespace. If its search attributes may not be listed, the check passes.
 * @throws CliError if it lacks search attributes of runs.
 */
export async function requireSearchAttributes({ client, connection, address, namespace }: Temporal): Promise<void> {
  const { operatorService } = connection;
  const missing = await promptly(client, () => missingSearchAttributes({ operatorService, namespace })).catch(
    (error: unknown) => {
      if (serverError(error) === null || isTroubleOfServer(error)) throw error;
      return [];
    },
  );
  if (missing.length > 0) throw attributesMissing({ address, namespace }, missing);
}

/** Decodes one payload that our workers wrote (JSON). */
export function fromPayload(payload: Parameters<typeof defaultPayloadConverter.fromPayload>[0]): unknown {
  return defaultPayloadConverter.fromPayload(payload);
}
