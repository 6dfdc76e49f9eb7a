/**
 * The kinds of environments: what plays an episode. A kind, or a short form of one, is a file in this folder and a row
 * in `KINDS`. Nothing else names a kind (docs/adr/0022-an-environment-has-a-kind.md).
 */
import { z } from 'zod';
import { type ModuleSection, moduleKind } from './module';
import { openenvKind } from './openenv';
import { type ProcessSection, processKind } from './process';
import { type ProgramSection, programKind } from './program';
import type { SeedRange } from './shared-options';
import type { Starter } from './starter';
import { tau2Kind } from './tau2';
import { toolsandboxKind } from './toolsandbox';
import { type TracesSection, tracesKind } from './traces';
import { verifiersKind } from './verifiers';

const KINDS = [
  moduleKind,
  processKind,
  programKind,
  tau2Kind,
  toolsandboxKind,
  openenvKind,
  verifiersKind,
  tracesKind,
] as const;

type SchemasOf<Kinds extends readonly { schema: unknown }[]> = { [Place in keyof Kinds]: Kinds[Place]['schema'] };
const schemas = KINDS.map(({ schema }) => schema) as unknown as SchemasOf<typeof KINDS>;

/** The ranges of named tasks until these are read. */
const UNREAD: SeedRange = { start: 0, count: 0 };

/** What a kind with named tasks may have. Those without them need seeds by their own schema. */
const SEEDS_OR_TASKS = 'the fields start, count; or `tasks`, a file of named tasks, in place of both ranges';

const kindOf = (section: { kind: string }) => KINDS.find(({ kind }) => kind === section.kind)!;

/** `environment` of agent.yaml: one of the kinds. */
export const environmentSchema = z
  .discriminatedUnion('kind', schemas)
  .superRefine((section, context) => {
    if (kindOf(section).expand === null) return;
    if ('tasks' in section && section.tasks !== undefined) return;
    for (const field of ['trainSeeds', 'heldOutSeeds'] as const)
      if (section[field] === undefined) context.addIssue({ code: 'custom', path: [field], message: SEEDS_OR_TASKS });
  })
  .transform((section) => {
    const { trainSeeds = UNREAD, heldOutSeeds = UNREAD } = section;
    return { ...section, trainSeeds, heldOutSeeds };
  })
  .describe('The tasks of the agent, and what plays them.');
/** An environment whose tasks have seeds. The loader gives seeds to named tasks. */
export type EnvironmentSection = z.infer<typeof environmentSchema>;

/** A section of one of the three ways to play an episode, to which every kind leads. */
export type PlayedSection = ModuleSection | ProcessSection | ProgramSection;

/** Whether something plays the tasks of an environment, so that `playedAs` says what. */
export const isPlayable = (environment: EnvironmentSection): boolean => kindOf(environment).expand !== null;

/** Why a run on an environment that nothing plays has to end early, and what more would take. */
export const NOTHING_PLAYS =
  'is a set of conversations, so nothing can be played. A run on it ends after identification: add --until identify. ' +
  'All else needs an environment of another kind, and a model (docs/guides/your-own-agent.md).';

/** `environment` of an agent of which there are conversations and nothing else. */
export const CONVERSATIONS: z.input<typeof tracesKind.schema> = { kind: 'traces' };

/** Which conversations stand in place of tasks; null: the tasks are played. */
export const conversationsOf = (environment: EnvironmentSection): Pick<TracesSection, 'most'> | null =>
  isPlayable(environment) ? null : (environment as TracesSection);

/**
 * The section of agent.yaml with the short forms written out: a module, a process or a program.
 * @throws TypeError if nothing plays it.
 */
export function playedAs(environment: EnvironmentSection): PlayedSection {
  const { expand } = kindOf(environment);
  if (expand === null) throw new TypeError('Nothing plays this environment.');
  return (expand as (section: EnvironmentSection) => PlayedSection)(environment);
}

/** What plays an environment; null if nothing does. */
const playerOf = (environment: EnvironmentSection): PlayedSection | null =>
  isPlayable(environment) ? playedAs(environment) : null;

/** The file of an environment that is a Python class, as agent.yaml names it; null for others. */
export function modulePath(environment: EnvironmentSection): string | null {
  const played = playerOf(environment);
  return played !== null && 'path' in played ? played.path : null;
}

/** The field of agent.yaml that says what plays the episodes. */
export function fieldOfPlayer(environment: EnvironmentSection): string {
  if ('path' in environment) return 'environment.path';
  return 'command' in environment ? 'environment.command' : 'environment';
}

/** What an environment that is a command asks of the machine. */
export interface AskedCommand extends Pick<ProcessSection, 'folders' | 'secrets'> {
  /** Each of its commands, by its field below `environment`. */
  commands: { field: string; command: string[] }[];
}

/** The command of an environment; null if it is a Python class, or nothing plays it. */
export function commandOf(environment: EnvironmentSection): AskedCommand | null {
  const played = playerOf(environment);
  if (played === null || !('command' in played)) return null;
  const { command, folders, secrets, tasks } = played;
  const score = 'score' in played ? played.score : undefined;
  const commands = [
    { field: 'command', command },
    ...(score === undefined ? [] : [{ field: 'score', command: score }]),
    ...(typeof tasks === 'object' ? [{ field: 'tasks.command', command: tasks.command }] : []),
  ];
  return { commands, folders, secrets };
}

/** Where named tasks come from, a file or a command that prints them, and what their splits are for. */
export type TaskOrigin = { splits: ProcessSection['splits'] } & (
  { file: string } | { command: string[]; seconds: number }
);

/** Where the named tasks of an environment come from; null if tasks have seeds alone. */
export function originOfTasks(environment: EnvironmentSection): TaskOrigin | null {
  const played = playerOf(environment);
  if (played === null || !('tasks' in played) || played.tasks === undefined) return null;
  const { tasks, splits } = played;
  return typeof tasks === 'string' ? { file: tasks, splits } : { ...tasks, splits };
}

/** A kind that has a name of its own, and needs from its owner no more than options. */
export interface Benchmark extends Starter {
  kind: string;
  /** What it is, in words. */
  about: string;
}

/**
 * The benchmarks by name, in the order of the kinds.
 * @param kinds default: all of them.
 */
export function benchmarks(
  kinds: readonly { kind: string; schema: z.ZodObject<{ kind: z.ZodType }>; starter?: Starter }[] = KINDS,
): Benchmark[] {
  return kinds.flatMap(({ kind, schema, starter }) =>
    starter === undefined ? [] : [{ kind, about: schema.shape.kind.description ?? kind, ...starter }],
  );
}
