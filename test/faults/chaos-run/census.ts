import { readdirSync, readFileSync } from 'node:fs';
import { isRunning, type ProcessId } from '../../../cli/supervisor/processes';
import { DOOR_VARIABLE } from './door-log';

/** What a process of an instance is. `command`: a `whet` in the foreground. */
export type ProcessKind =
  | 'supervisor'
  | 'worker'
  | 'temporal'
  | 'policy'
  | 'gateway'
  | 'analyst'
  | 'model'
  | 'trainer'
  | 'trainer-shell'
  | 'jail'
  | 'environment'
  | 'command'
  | 'helper';

/** A process that an instance started. */
export interface KnownProcess extends ProcessId {
  kind: ProcessKind;
  command: string;
}

const KINDS: readonly [ProcessKind, RegExp][] = [
  ['supervisor', /\/dist\/cli\/supervisor\/main\.js/],
  ['worker', /\/dist\/workers\/main\.js/],
  ['gateway', /\/dist\/gateway\/main\.js/],
  ['analyst', /\/analyst\/main\.js/],
  ['temporal', / server start-dev /],
  ['policy', / -m whetstone\.serve /],
  ['trainer-shell', /^\/bin\/sh -c .* trainer \S*python\S* -m whetstone\.train /s],
  ['trainer', /^\S*python\S* -m whetstone\.train /],
  ['model', /\/recipe\.py /],
  ['command', /\/dist\/cli\/main\.js/],
  ['jail', /bwrap /],
  ['environment', /(envs\/runtime\/__main__\.py|\/runtime\.pyc) /],
];

interface Stat {
  id: ProcessId;
  parent: number;
}

/**
 * Finds the processes of one instance: those with its mark in their environment, and their descendants. A jail has no
 * environment, and its parent may be killed before it, so whatever was seen once stays known.
 */
export class Census {
  private readonly known = new Map<string, KnownProcess>();
  private readonly strangers = new Set<string>();
  private readonly mark: string;

  /** @param doorLog path of the instance's door log, which all its processes have in their environment. */
  constructor(doorLog: string) {
    this.mark = `${DOOR_VARIABLE}=${doorLog}`;
  }

  /** Looks at all processes of the machine. Returns those of the instance that run. */
  look(): KnownProcess[] {
    const stats = readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
      .flatMap((name) => readStat(Number(name)) ?? []);
    const byPid = new Map(stats.map((stat) => [stat.id.pid, stat]));
    for (const stat of stats) this.recognise(stat, byPid);
    return stats.flatMap(({ id }) => this.known.get(nameOf(id)) ?? []);
  }

  /** All processes of the instance that were ever seen. */
  get everSeen(): KnownProcess[] {
    return [...this.known.values()];
  }

  /** Those of them that still run. */
  get stillRunning(): KnownProcess[] {
    this.look();
    return this.everSeen.filter(isRunning);
  }

  private recognise(stat: Stat, byPid: ReadonlyMap<number, Stat>): boolean {
    const name = nameOf(stat.id);
    const known = this.known.get(name);
    // A process changes its command line when it starts a program.
    if (known !== undefined) {
      if (known.kind === 'helper' || known.kind === 'jail') Object.assign(known, describe(stat.id.pid, known));
      return true;
    }
    const parent = byPid.get(stat.parent);
    const isOurs =
      (!this.strangers.has(name) && this.isMarked(stat.id.pid)) ||
      (parent !== undefined && stat.parent > 1 && this.recognise(parent, byPid));
    if (isOurs) this.known.set(name, { ...stat.id, ...describe(stat.id.pid) });
    else this.strangers.add(name);
    return isOurs;
  }

  private isMarked(pid: number): boolean {
    return readOr(`/proc/${pid}/environ`).split('\0').includes(this.mark);
  }
}

const nameOf = ({ pid, startTicks }: ProcessId): string => `${pid}/${startTicks}`;

function describe(pid: number, before?: KnownProcess): Pick<KnownProcess, 'kind' | 'command'> {
  const command = readOr(`/proc/${pid}/cmdline`).split('\0').join(' ').trim();
  if (command === '') return before ?? { kind: 'helper', command };
  return { kind: KINDS.find(([, pattern]) => pattern.test(`${command} `))?.[0] ?? 'helper', command };
}

function readStat(pid: number): Stat | null {
  const text = readOr(`/proc/${pid}/stat`);
  // The command's name stands in parentheses and may hold anything, so count the fields after the last one.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  if (text === '' || fields[0] === 'Z') return null;
  return { id: { pid, startTicks: Number(fields[19]) }, parent: Number(fields[1]) };
}

function readOr(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
