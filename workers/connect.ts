import { setTimeout as sleep } from 'node:timers/promises';
import { NativeConnection, TransportError } from '@temporalio/worker';

/** The signals at which a worker ends. */
export const SHUTDOWN_SIGNALS: NodeJS.Signals[] = ['SIGTERM', 'SIGINT'];

const RETRY_MS = 2_000;
/** A sentence that did not change is printed again after this time. */
const REPEAT_MS = 60_000;

/**
 * Connects to Temporal. A worker often starts before the cluster's DNS or the server answers: it waits, and says so.
 * Meanwhile it has begun nothing, so a signal ends the process at once.
 * @throws what is not about reaching the server.
 */
export async function connectToTemporal(address: string): Promise<NativeConnection> {
  let printed = { text: '', atMs: 0 };
  const end = () => process.exit(0);
  for (const signal of SHUTDOWN_SIGNALS) process.on(signal, end);
  for (;;) {
    try {
      const connection = await NativeConnection.connect({ address });
      for (const signal of SHUTDOWN_SIGNALS) process.off(signal, end);
      return connection;
    } catch (error) {
      if (!(error instanceof TransportError)) throw error;
      const text = waitingText(address, error.message);
      if (text !== printed.text || Date.now() - printed.atMs > REPEAT_MS) {
        console.error(text);
        printed = { text, atMs: Date.now() };
      }
      await sleep(RETRY_MS);
    }
  }
}

/** The server's library describes an error in the notation of its own language: only the cause is repeated. */
function waitingText(address: string, message: string): string {
  const cause =
    /failed to lookup address information: [^"]+/.exec(message)?.[0] ??
    /message: \\?"([^"\\]+)/.exec(message)?.[1] ??
    message;
  return (
    `Waiting for Temporal at ${address}: ${cause}. The worker starts when it answers. If the address is wrong, correct ` +
    'TEMPORAL_ADDRESS.'
  );
}
