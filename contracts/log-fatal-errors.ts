/**
 * Keeps a process alive when its log cannot be written, and makes it log why it ends. Call it first in an entry point.
 *
 * If the log is on a full disk or a closed pipe, its standard stream emits an `error` event. Without a listener this
 * event ends the Node process. An uncaught exception becomes the log's last line, with its stack, and gives exit code
 * 1.
 */
export function logFatalErrors(name: string): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const end = (error: unknown) => {
    const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
    console.error(`The ${name} ends because of an error that nobody caught: ${reason}`);
    process.exit(1);
  };
  process.on('uncaughtException', end);
  process.on('unhandledRejection', end);
}
