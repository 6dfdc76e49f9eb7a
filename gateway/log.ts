import pino from 'pino';
import { cleanText } from '../contracts/clean-text';

/** Structured log lines on standard output. */
export type Log = Pick<pino.Logger, 'info' | 'warn' | 'error' | 'debug'>;

/**
 * A log of this level; default WHET_LOG_LEVEL, or `info`. Single requests are in metrics and spans, not in the log.
 * `destination` receives its lines; default: standard output.
 */
export function createLog(
  level: string = process.env['WHET_LOG_LEVEL'] || 'info',
  destination: pino.DestinationStream = standardOutput(),
): Log {
  // These lines quote model servers, and people read them in a terminal.
  return pino({ level, base: null }, { write: (line: string) => void destination.write(cleanText(line)) });
}

function standardOutput(): pino.DestinationStream {
  const destination = pino.destination({ sync: false });
  // On a full disk or a closed pipe, lines are lost until it can be written again; nothing else happens.
  destination.on('error', () => undefined);
  return destination;
}
