import { createOutput, type Output } from './output';
import { readSettings, type Settings } from './settings';

/** What every command gets. */
export interface Context {
  settings: Settings;
  out: Output;
}

/** Options that every command has. */
export interface CommonOptions {
  json?: boolean;
}

/** Reads the environment and opens the output. @throws CliError (exit 2) for a wrong variable. */
export function openContext({ json }: CommonOptions): Context {
  return { settings: readSettings(), out: createOutput(json === true) };
}
