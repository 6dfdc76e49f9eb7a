import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { openRuleBook } from './answers';
import { Journal } from './journal';
import { createAnalystServer, DEMO_ANALYST_NAME } from './server';

const USAGE = `Usage: analyst [--port N] [--host ADDRESS] [--journal FILE] [--latency-ms N] [--assets DIRECTORY]
The ${DEMO_ANALYST_NAME} of the orders desk behind OpenAI's chat completions API.`;

const number = (fallback: string, max: number) =>
  z.string().regex(/^\d+$/, 'a whole number').default(fallback).transform(Number).pipe(z.number().max(max));

const optionsSchema = z.object({
  port: number('8090', 65_535),
  host: z.string().default('127.0.0.1'),
  journal: z.string().optional(),
  'latency-ms': number('0', 600_000),
  assets: z.string().optional(),
});

/** The directory with capabilities.json: beside this file, or in the source tree that its compiled copy belongs to. */
function assetsDirectory(): string {
  const tail = join('examples', 'orders-desk', 'analyst');
  for (let directory = __dirname; ; directory = dirname(directory)) {
    if (existsSync(join(directory, tail, 'capabilities.json'))) return join(directory, tail);
    if (directory === dirname(directory))
      throw new Error(
        `capabilities.json of the orders desk was not found above ${__dirname}; name its directory with --assets.`,
      );
  }
}

async function main(): Promise<void> {
  const string = { type: 'string' } as const;
  const { values } = parseArgs({
    options: { port: string, host: string, journal: string, 'latency-ms': string, assets: string },
  });
  const options = optionsSchema.parse(values);
  const journal = new Journal(options.journal ?? null);
  const app = createAnalystServer({
    rules: openRuleBook(options.assets ?? assetsDirectory()),
    journal,
    latencyMs: options['latency-ms'],
  });
  const stop = () => {
    void app.close().then(() => journal.close());
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  const address = await app.listen({ port: options.port, host: options.host });
  console.log(`${DEMO_ANALYST_NAME} listens on ${address}/v1`);
}

main().catch((error: NodeJS.ErrnoException) => {
  const taken =
    error.code === 'EADDRINUSE' ? 'The port is taken: stop what uses it or give another one with --port.' : null;
  console.error(taken ?? (error instanceof z.ZodError ? z.prettifyError(error) : error.message));
  console.error(USAGE);
  process.exitCode = 1;
});
