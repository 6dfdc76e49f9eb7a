import pino from 'pino';

/** Structured log lines on standard output. */
export type Log = Pick<pino.Logger, 'info' | 'warn' | 'error' | 'debug'>;

/** A log of this level; default WHET_LOG_LEVEL, or `info`. Single requests are in metrics and spans, not in the log. */
export function createLog(level: string = process.env['WHET_LOG_LEVEL'] || 'info'): Log {
  const destination = pino.destination({ sync: false });
  // A full disk, or a reader who closed the pipe: lines are lost until it can be written again, and nothing else.
  destination.on('error', () => undefined);
  return pino({ level, base: null }, destination);
}
