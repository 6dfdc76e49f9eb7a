import pino from 'pino';

/** Structured log lines on standard output. */
export type Log = Pick<pino.Logger, 'info' | 'warn' | 'error' | 'debug'>;

/** WHET_LOG_LEVEL: default `info`. Requests are not logged one by one; metrics and traces show them. */
export function createLog(level: string = process.env['WHET_LOG_LEVEL'] || 'info'): Log {
  return pino({ level, base: null }, pino.destination({ sync: false }));
}
