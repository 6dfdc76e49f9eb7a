#!/usr/bin/env node
import { CommanderError } from 'commander';
import type { CommandFailureType } from '../contracts/failures/command-line';
import { CliError } from './errors';
import { createProgram } from './program';

/** Runs `whet` with its arguments and returns the exit code: 0 done, 1 failed, 2 wrong input. */
async function main(argv: string[]): Promise<number> {
  const program = createProgram().exitOverride();
  for (const command of program.commands) for (const inner of [command, ...command.commands]) inner.exitOverride();
  const json = argv.includes('--json');
  try {
    await program.parseAsync(argv, { from: 'user' });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    // commander has written its own message already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    const type = error instanceof CliError ? error.type : ('Cli.Unexpected' satisfies CommandFailureType);
    const message = error instanceof Error ? error.message : String(error);
    if (json) process.stdout.write(`${JSON.stringify({ error: { type, message } }, null, 2)}\n`);
    else
      process.stderr.write(
        error instanceof CliError
          ? `whet: ${message}\n`
          : `whet: unexpected error: ${error instanceof Error ? (error.stack ?? message) : message}\n`,
      );
    return error instanceof CliError ? error.exitCode : 1;
  }
}

// A reader may close the pipe early (`whet ls | head -1`): end quietly, with the code that shells give to SIGPIPE.
const PIPE_CLOSED = 141;
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(PIPE_CLOSED);
  throw error;
});

void main(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});
