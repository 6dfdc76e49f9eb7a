import { parseArgs } from 'node:util';
import { z } from 'zod';
import type { RuleBook } from './answers';
import { Journal } from './journal';
import { createAnalystServer } from './server';

const USAGE = `Usage: main.js [--port N] [--host ADDRESS] [--journal FILE] [--latency-ms N] [--assets DIRECTORY]
               [--prompts DIRECTORY]
An analyst of recorded answers and rules behind OpenAI's chat completions API.`;

const number = (fallback: string, max: number) =>
  z.string().regex(/^\d+$/, 'a whole number').default(fallback).transform(Number).pipe(z.number().max(max));

const optionsSchema = z.object({
  port: number('8090', 65_535),
  host: z.string().default('127.0.0.1'),
  journal: z.string().optional(),
  'latency-ms': number('0', 600_000),
  assets: z.string().optional(),
  prompts: z.string().optional(),
});

/**
 * Serves a rule book as the command line says, until SIGTERM or SIGINT. Errors are printed; the exit code is then 1.
 * @param open opens the rule book of the directory that `--assets` names, or of the usual one.
 */
export function runAnalyst(open: (assets: string | undefined) => RuleBook): void {
  serve(open).catch((error: NodeJS.ErrnoException) => {
    const taken =
      error.code === 'EADDRINUSE' ? 'The port is taken: stop what uses it or give another one with --port.' : null;
    console.error(taken ?? (error instanceof z.ZodError ? z.prettifyError(error) : error.message));
    console.error(USAGE);
    process.exitCode = 1;
  });
}

async function serve(open: (assets: string | undefined) => RuleBook): Promise<void> {
  const string = { type: 'string' } as const;
  const { values } = parseArgs({
    options: { port: string, host: string, journal: string, 'latency-ms': string, assets: string, prompts: string },
  });
  const options = optionsSchema.parse(values);
  const journal = new Journal(options.journal ?? null);
  const rules = open(options.assets);
  await rules.ready;
  const app = createAnalystServer({
    rules,
    journal,
    latencyMs: options['latency-ms'],
    prompts: options.prompts ?? null,
  });
  const stop = () => {
    void app.close().then(() => journal.close());
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  const address = await app.listen({ port: options.port, host: options.host });
  console.log(`${rules.name} listens on ${address}/v1`);
}
