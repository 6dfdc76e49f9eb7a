import { cleanText } from './clean-text';

/**
 * From now on, cleans all text that this process writes to its standard streams. Logs quote generated code and models,
 * and people read them in a terminal. Bytes that are not text pass unchanged.
 */
export function cleanStandardStreams(streams: readonly NodeJS.WriteStream[] = [process.stdout, process.stderr]): void {
  for (const stream of streams) {
    const write = stream.write.bind(stream) as (chunk: unknown, ...rest: unknown[]) => boolean;
    stream.write = (chunk: unknown, ...rest: unknown[]) =>
      write(typeof chunk === 'string' ? cleanText(chunk) : chunk, ...rest);
  }
}
