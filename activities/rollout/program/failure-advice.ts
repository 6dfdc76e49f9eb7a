import { resolve } from 'node:path';
import type { RunningProgram } from '../../../sandbox';

/** Lines of interpreters and tools about a file that they do not find. */
const ABOUT_FILES = /no such file|can't open file|cannot find module/i;
/** A path in such a line, in quotes or without blanks. */
const PATHS = /(["'])((?:\.\.)?\/[^"']+)\1|(?<![^\s(:])((?:\.\.)?\/[^\s"':,)]+)/g;
/** Most paths that are looked for on the machine. */
const MOST_PATHS = 8;

const NO_MODULE = /ModuleNotFoundError: No module named '([\w.]{1,100})'/;

/**
 * What to do about the last words of a command, where they show it; else empty: about a file that its jail hides, and
 * about a package that the system's Python lacks. Of files only their existence is looked at.
 */
export function adviceOn(words: string, { agentFolder, hides }: Pick<RunningProgram, 'agentFolder' | 'hides'>): string {
  const named = words
    .split('\n')
    .filter((line) => ABOUT_FILES.test(line))
    .flatMap((line) => [...line.matchAll(PATHS)].map(([, , quoted, plain]) => resolve(agentFolder, quoted ?? plain!)));
  const hidden = [...new Set(named)].slice(-MOST_PATHS).find(hides);
  if (hidden !== undefined)
    return `\n${hidden} exists, but a program sees only the folder of agent.yaml and environment.folders.`;
  const [, module] = NO_MODULE.exec(words) ?? [];
  if (module === undefined) return '';
  return (
    `\nIf ${module} is a package, install it in a virtual environment beside agent.yaml that the system's Python made ` +
    '(`/usr/bin/python3 -m venv .venv`), and write `command: [.venv/bin/python, agent.py]`.'
  );
}
