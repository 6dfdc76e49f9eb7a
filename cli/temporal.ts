import {
  Client,
  Connection,
  defaultPayloadConverter,
  isGrpcServiceError,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { CliError } from './errors';
import { refuses } from './supervisor/ports';
import { askSupervisor, readSupervisorState } from './supervisor/supervisor-state';
import type { Settings } from './settings';

/** An open connection with its client. Whoever opened it calls `close`. */
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

/** Opens a connection. @throws CliError when nothing answers there. */
async function connectTemporal(settings: Settings): Promise<Temporal> {
  const address = await temporalAddress(settings);
  try {
    await requireListener(address);
    const connection = await Connection.connect({ address, connectTimeout: '20s' });
    const client = new Client({ connection, namespace: settings.temporalNamespace });
    return { client, connection, address, namespace: settings.temporalNamespace, close: () => connection.close() };
  } catch (error) {
    throw new CliError(
      `No Temporal server answers at ${address}. Start one with \`whet up\`, ` +
        'or set TEMPORAL_ADDRESS to the address of yours.',
      {
        type: 'Temporal.Unreachable',
        cause: error,
      },
    );
  }
}

/** Fails at once where nobody listens, for which the client would use its whole time. A busy server gets that time. */
async function requireListener(address: string): Promise<void> {
  const colon = address.lastIndexOf(':');
  const host = address.slice(0, colon).replace(/^\[|\]$/g, '');
  const port = Number(address.slice(colon + 1));
  if (colon > 0 && Number.isInteger(port) && (await refuses(host, port)))
    throw new Error(`Nobody listens at ${address}.`);
}

/** Opens a connection, hands it to `action` and closes it. @throws CliError for errors of the server. */
export async function withTemporal<T>(settings: Settings, action: (temporal: Temporal) => Promise<T>): Promise<T> {
  const temporal = await connectTemporal(settings);
  try {
    return await action(temporal);
  } catch (error) {
    throw toCliError(error, temporal);
  } finally {
    await temporal.close();
  }
}

function toCliError(error: unknown, { address, namespace }: Temporal): unknown {
  if (error instanceof WorkflowNotFoundError) {
    return new CliError(
      `There is no run ${error.workflowId} at ${address}, namespace ${namespace}. \`whet ls\` lists the runs.`,
      {
        type: 'Run.NotFound',
        cause: error,
      },
    );
  }
  if (isGrpcServiceError(error)) {
    return new CliError(`The Temporal server at ${address} answered: ${error.details || error.message}.`, {
      type: 'Temporal.Failed',
      cause: error,
    });
  }
  return error;
}

/** Decodes one payload that our workers wrote (JSON). */
export function fromPayload(payload: Parameters<typeof defaultPayloadConverter.fromPayload>[0]): unknown {
  return defaultPayloadConverter.fromPayload(payload);
}
