import { readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { PatchError, readRecorded } from '../recorded-file';

/** Kinds of questions that the analyst recognises by their words. */
export type QuestionKind = 'discover' | 'merge' | 'label' | 'synthesise' | 'read';

const capabilitiesSchema = z.array(
  z.object({ id: z.string(), name: z.string(), summary: z.string(), description: z.string() }),
);
/** A capability as the analyst names it. */
type KnownCapability = z.infer<typeof capabilitiesSchema>[number];

/** What a rule says about one capability in one episode. */
export interface Judgement {
  label: 'NA' | 'PRESENT' | 'LACKING';
  step: number | null;
  reason: string;
}

/** A question for which the analyst has no answer. The server answers 400 with the message. */
export class UnknownQuestionError extends Error {}

/** An answer, and what was asked. */
interface Answer {
  kind: QuestionKind;
  value: Record<string, unknown>;
}

/** Answers questions from their text alone. */
export interface RuleBook {
  /** Its model id, and its name wherever a person reads about it. */
  model: string;
  name: string;
  /** Rejects with UnknownQuestionError. */
  answer(prompt: string): Promise<Answer>;
  /** Rejects where its rules cannot be loaded. Absent: they need no loading. */
  ready?: Promise<void>;
  close?(): void;
}

/** What a rule book is made of. */
interface RuleBookParts {
  model: string;
  name: string;
  /** Has capabilities.json and environments/. */
  directory: string;
  /** What the rules say of a capability (its id in capabilities.json) in an episode; null where they have no rule. */
  judge: (id: string, episode: string) => Judgement | null | Promise<Judgement | null>;
  /** What a question for a label gets instead of that. Default: the same. */
  label?: (id: string, episode: string, judgement: Judgement) => Judgement;
  close?: () => void;
}

/**
 * Opens a rule book.
 * @throws Error with its path when capabilities.json is missing or is not a list of capabilities.
 */
export function openRuleBook(parts: RuleBookParts): RuleBook {
  const { model, name, close } = parts;
  const book = new RecordedAnswers(parts);
  return { model, name, answer: (prompt) => book.answer(prompt), ...(close && { close }) };
}

/** @throws Error with the path, and where in the file the fault is. */
function readCapabilities(file: string): KnownCapability[] {
  const text = readFileSync(file, 'utf8');
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (error) {
    throw new Error(`${file}: ${(error as Error).message}`, { cause: error });
  }
  const capabilities = capabilitiesSchema.safeParse(document);
  if (!capabilities.success) throw new Error(`${file}: ${z.prettifyError(capabilities.error)}`);
  return capabilities.data;
}

/** What a prompt asks; null where the analyst does not recognise it. */
export function questionKind(prompt: string): QuestionKind | null {
  if (/\nWrite the environment for the capability "(.+)"\.\s*$/.test(prompt)) return 'synthesise';
  if (/\nLabel this capability in this episode\.\s*$/.test(prompt)) return 'label';
  if (/\nLabel this capability in each of these \d+ episodes\.\s*$/.test(prompt)) return 'read';
  if (/\nWhich capabilities does the agent lack\?\s*$/.test(prompt)) return 'discover';
  if (/\nWhich of these capabilities are the same\?\s*$/.test(prompt)) return 'merge';
  return null;
}

class RecordedAnswers {
  private readonly file: string;
  private capabilities: readonly KnownCapability[];
  /** When the file was changed that `capabilities` are from, in milliseconds. */
  private changedMs: number;

  constructor(private readonly parts: RuleBookParts) {
    this.file = join(parts.directory, 'capabilities.json');
    this.changedMs = statSync(this.file).mtimeMs;
    this.capabilities = readCapabilities(this.file);
  }

  /** Takes over a file that was changed. @throws UnknownQuestionError while it is missing or wrong. */
  private readAgain(): void {
    try {
      const { mtimeMs } = statSync(this.file);
      if (mtimeMs === this.changedMs) return;
      this.capabilities = readCapabilities(this.file);
      this.changedMs = mtimeMs;
    } catch (error) {
      throw new UnknownQuestionError(`Correct ${(error as Error).message}`, { cause: error });
    }
  }

  async answer(prompt: string): Promise<Answer> {
    this.readAgain();
    const kind = questionKind(prompt);
    switch (kind) {
      case 'synthesise':
        return { kind, value: this.synthesise(prompt) };
      case 'label':
        return { kind, value: { ...(await this.label(prompt)) } };
      case 'read':
        return { kind, value: { labels: await this.labelEach(prompt) } };
      case 'discover':
        return { kind, value: { capabilities: await this.discover(prompt) } };
      case 'merge':
        // The analyst has one name for each of its capabilities, so no two candidates are the same.
        return { kind, value: { groups: [] } };
      case null:
        throw new UnknownQuestionError(
          `The ${this.parts.name} did not recognise the question: ` +
            'it answers discovery, merge, labelling and synthesis prompts only.',
        );
    }
  }

  private named(name: string): KnownCapability | undefined {
    return this.capabilities.find((capability) => capability.name === name.trim());
  }

  /** The recorded environment; after the rejection of an attempt the one that was written next. */
  private synthesise(prompt: string): Record<string, unknown> {
    const name = /\nWrite the environment for the capability "(.+)"\.\s*$/.exec(prompt)?.[1] ?? '';
    const capability = this.named(name);
    const rejected = Number(/^# Attempt (\d+) was rejected/m.exec(prompt)?.[1] ?? 0);
    if (!capability) throw new UnknownQuestionError(this.missing(name));
    const draft = this.recorded(`${capability.id}.attempt-${rejected + 1}.py`);
    const source = draft ?? this.recorded(`${capability.id}.py`);
    if (source === null) throw new UnknownQuestionError(this.missing(name, capability));
    const rationale =
      source === draft
        ? `${rejected === 0 ? 'A first' : 'Another'} environment for: ${capability.summary}.`
        : `An environment for: ${capability.summary}. ` +
          'Small tasks that need this habit alone, with credit for each step towards it.';
    return { rationale, decline: null, source };
  }

  /** Text of a file in environments/, as it is or made from its patch; null where there is none. */
  private recorded(name: string): string | null {
    try {
      return readRecorded(join(resolve(this.parts.directory), 'environments', name))?.text ?? null;
    } catch (error) {
      if (error instanceof PatchError) throw new UnknownQuestionError(`Correct ${error.message}`, { cause: error });
      throw error;
    }
  }

  /** What to add for a capability without an environment. The file comes first: clients quote the beginning only. */
  private missing(name: string, capability?: KnownCapability): string {
    const asked = JSON.stringify(name);
    const directory = resolve(this.parts.directory);
    if (capability) {
      const file = join(directory, 'environments', `${capability.id}.py`);
      return `Add ${file}: no environment is recorded for the capability ${asked} of the ${this.parts.name}.`;
    }
    return (
      `Add it to ${resolve(this.file)}, and write environments/ID.py beside that: no environment is recorded for the ` +
      `capability ${asked}, which the ${this.parts.name} does not know.`
    );
  }

  /** A label for each episode of a prompt with several. */
  private async labelEach(prompt: string): Promise<({ episode: number } & Judgement)[]> {
    const at = prompt.lastIndexOf('\nCapability: ');
    const [, ...episodes] = prompt.slice(0, at).split(/^Episode \d+:$/m);
    const question = prompt.slice(at);
    return Promise.all(
      episodes.map(async (text, index) => ({
        episode: index + 1,
        ...(await this.label(`Episode:${text}${question}`)),
      })),
    );
  }

  private async label(prompt: string): Promise<Judgement> {
    const at = prompt.lastIndexOf('\nCapability: ');
    const name = prompt.slice(at + '\nCapability: '.length).split('\n')[0] as string;
    const id = this.named(name)?.id;
    const episode = prompt.slice(0, at);
    const judgement = id === undefined ? null : await this.parts.judge(id, episode);
    if (id === undefined || judgement === null)
      return { label: 'NA', step: null, reason: `The ${this.parts.name} has no rule for this capability.` };
    return this.parts.label?.(id, episode, judgement) ?? judgement;
  }

  /**
   * The capabilities that some failed episode shows to be lacking, the most frequent first, each with the numbers of
   * those episodes.
   */
  private async discover(prompt: string) {
    const episodes = prompt.split(/^Episode (\d+): (failed|succeeded)$/m);
    const shown = new Map<string, number[]>();
    for (let i = 1; i + 2 < episodes.length; i += 3) {
      if (episodes[i + 1] === 'succeeded') continue;
      for (const { id } of this.capabilities) {
        const judgement = await this.parts.judge(id, episodes[i + 2] as string);
        if (judgement?.label === 'LACKING') shown.set(id, [...(shown.get(id) ?? []), Number(episodes[i])]);
      }
    }
    return this.capabilities
      .map(({ id, name, summary, description }) => ({
        name,
        summary,
        description,
        episodes: shown.get(id) ?? [],
        notTrainable: null,
      }))
      .filter((capability) => capability.episodes.length > 0)
      .sort((a, b) => b.episodes.length - a.episodes.length);
  }
}
