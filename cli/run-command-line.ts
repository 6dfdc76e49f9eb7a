import { CommanderError } from 'commander';
import { cleanBlock } from '../contracts/clean-text';
import type { CommandFailureType } from '../contracts/failures/command-line';
import { projectVersion } from '../contracts/project-version';
import { refuseLineFeeds } from './arguments';
import { CliError } from './errors';
import { type CleanStream, standardError, standardOutput } from './output';
import { createProgram } from './program';
import { explainSystemError } from './system-errors';

/** The streams for output that does not come from commands. */
export interface Streams {
  stdout: CleanStream;
  stderr: CleanStream;
}

/** Runs `whet` with its arguments and returns the exit code: 0 done, 1 failed, 2 wrong input. */
export async function runCommandLine(
  argv: string[],
  { stdout, stderr }: Streams = { stdout: standardOutput, stderr: standardError },
): Promise<number> {
  const json = argv.includes('--json');
  const print = (value: unknown) => stdout.write(`${JSON.stringify(value, null, 2)}\n`);
  // With --json a program reads the output. So usage errors are printed below as a document instead of text.
  const program = createProgram(
    json
      ? { writeErr: () => undefined, writeOut: () => undefined }
      : { writeErr: (text) => stderr.write(text), writeOut: (text) => stdout.write(text) },
  );
  try {
    refuseLineFeeds(argv);
    await program.parseAsync(argv, { from: 'user' });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    if (error instanceof CommanderError) {
      const asked = error.exitCode === 0;
      if (json && error.code === 'commander.version') print({ version: projectVersion() });
      else if (json && asked) stdout.write(program.helpInformation());
      else if (json) print({ error: { type: 'Cli.Usage' satisfies CommandFailureType, message: usageMessage(error) } });
      return asked ? 0 : 2;
    }
    const known = error instanceof CliError ? error : explainSystemError(error);
    const type = known?.type ?? ('Cli.Unexpected' satisfies CommandFailureType);
    const message = known?.message ?? (error instanceof Error ? error.message : String(error));
    if (json) print({ error: { type, message } });
    else if (known !== null) stderr.write(`whet: ${cleanBlock(message)}\n`);
    else stderr.write(`whet: unexpected error: ${error instanceof Error ? (error.stack ?? message) : message}\n`);
    return known?.exitCode ?? 1;
  }
}

/**
 * commander's sentence without its prefix. If a command lacks its subcommand, commander gives no sentence. So a
 * sentence is added here.
 */
const usageMessage = ({ code, message }: CommanderError): string =>
  code === 'commander.help'
    ? 'A command is missing. `whet --help` lists the commands.'
    : message.replace(/^error: /, '');
