/**
 * Lets a process live on when its log cannot be written, and makes it say why it ends. Call it first in an entry point.
 *
 * A log on a full disk, or a closed pipe, reaches a Node process as an `error` event of its standard streams, and ends
 * it when nobody listens. An exception that nobody caught becomes the log's last line, with its stack, and exit code 1.
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
