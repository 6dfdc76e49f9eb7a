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
import { verifiersKind } from './verifiers';

const KINDS = [moduleKind, processKind, programKind, tau2Kind, toolsandboxKind, openenvKind, verifiersKind] as const;

type SchemasOf<Kinds extends readonly { schema: unknown }[]> = { [Place in keyof Kinds]: Kinds[Place]['schema'] };
const schemas = KINDS.map(({ schema }) => schema) as unknown as SchemasOf<typeof KINDS>;

/** The ranges of named tasks until the loader has read their file. */
const UNREAD: SeedRange = { start: 0, count: 0 };

/** `environment` of agent.yaml: one of the kinds. */
export const environmentSchema = z
  .discriminatedUnion('kind', schemas)
  .superRefine((section, context) => {
    if ('tasks' in section && section.tasks !== undefined) return;
    for (const field of ['trainSeeds', 'heldOutSeeds'] as const)
      if (section[field] === undefined)
        context.addIssue({ code: 'invalid_type', expected: 'object', path: [field], input: undefined });
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

/** The section of agent.yaml with the short forms written out: a module, a process or a program. */
export function playedAs(environment: EnvironmentSection): PlayedSection {
  const { expand } = KINDS.find(({ kind }) => kind === environment.kind)!;
  return (expand as (section: EnvironmentSection) => PlayedSection)(environment);
}

/** The file of an environment that is a Python class, as agent.yaml names it; null for others. */
export function modulePath(environment: EnvironmentSection): string | null {
  const played = playedAs(environment);
  return 'path' in played ? played.path : null;
}

/** What an environment that is a command asks of the machine. `score`: a second command, or null. */
export interface AskedCommand extends Pick<ProcessSection, 'command' | 'folders' | 'secrets'> {
  score: string[] | null;
}

/** The command of an environment; null if it is a Python class. */
export function commandOf(environment: EnvironmentSection): AskedCommand | null {
  const played = playedAs(environment);
  if (!('command' in played)) return null;
  const { command, folders, secrets } = played;
  return { command, folders, secrets, score: 'score' in played ? (played.score ?? null) : null };
}

/** The file of named tasks, and what its splits are for; null if tasks have seeds alone. */
export function taskFileOf(environment: EnvironmentSection): { file: string; splits: ProcessSection['splits'] } | null {
  const played = playedAs(environment);
  if (!('tasks' in played) || played.tasks === undefined) return null;
  return { file: played.tasks, splits: played.splits };
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
