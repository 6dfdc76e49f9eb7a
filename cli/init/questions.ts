import { z } from 'zod';
import { apiUrlSchema } from '../../contracts/config/http-url';
import { type Benchmark, benchmarks } from '../../contracts/config/environment-kinds';
import { CliError } from '../errors';
import type { Terminal } from '../output';
import { commandWords } from './command-words';
import { Prompt } from './prompt';

/** Flags of `whet init`: the answers to its questions. */
export interface InitFlags {
  gateway?: boolean;
  program?: boolean;
  command?: string;
  python?: string;
  benchmark?: string;
  baseUrl?: string;
  model?: string;
  modelPath?: string;
}

/** What there is: one of these flags is needed. */
export const KIND_FLAGS = [
  { name: 'gateway', usage: '--gateway', about: 'an application that asks a model at an OpenAI-compatible address' },
  { name: 'program', usage: '--program', about: 'a command that plays one task; a starter in Python is written' },
  {
    name: 'command',
    usage: '--command <words>',
    about: 'your own command that plays one task; files in it are copied',
  },
  { name: 'python', usage: '--python <file>', about: 'a Python file with class Environment, which is copied' },
  { name: 'benchmark', usage: '--benchmark <name>', about: benchmarksInWords() },
] as const;

/** The questions about the model. All of them need an answer. */
export const MODEL_FLAGS = [
  {
    name: 'baseUrl',
    usage: '--base-url <url>',
    about: 'OpenAI-compatible address of the model',
    schema: apiUrlSchema,
    suggestion: 'http://127.0.0.1:8000/v1',
  },
  {
    name: 'model',
    usage: '--model <name>',
    about: "the model's name there",
    schema: noAddress('the name under which the server serves the model, such as qwen3-4b, and not an address'),
  },
  {
    name: 'modelPath',
    usage: '--model-path <folder>',
    about: "folder with the model's weights, in save_pretrained format",
    schema: noAddress('a folder, and not an address: download the weights first'),
  },
] as const;

/** What there is, and the model. */
export interface InitAnswers {
  kind:
    | { starts: 'gateway' | 'new-program' }
    | { starts: 'command'; words: string[] }
    | { starts: 'python'; file: string }
    | { starts: 'benchmark'; benchmark: Benchmark };
  model: { baseUrl: string; name: string; path: string };
}

/** Texts other than addresses; `allowed` says what they are. */
function noAddress(allowed: string) {
  return z
    .string()
    .min(1)
    .regex(/^(?!\w+:\/\/)/, allowed);
}

function benchmarksInWords(): string {
  const names = benchmarks().map(({ kind }) => kind);
  return `a benchmark by its name: ${names.join(', ') || 'there is none yet'}`;
}

/**
 * The answers that the flags give; in a terminal, asks for those that are missing.
 * @throws CliError (exit 2) for a wrong flag, with the flag of a question that nobody can answer, and when the answers
 *   end early.
 */
export async function answersOf(flags: InitFlags, terminal: Terminal): Promise<InitAnswers> {
  const given = kindOf(flags);
  const model = new Map<string, string>();
  for (const { name, usage, schema } of MODEL_FLAGS) {
    const text = flags[name];
    if (text !== undefined) model.set(name, checked(text, flagOf(usage), schema));
  }
  const open = MODEL_FLAGS.filter(({ name }) => !model.has(name));
  if (!terminal.isInteractive) refuseMissing(given !== null, open);
  using prompt = new Prompt(terminal);
  const kind = given ?? (await askKind(prompt));
  for (const question of open)
    model.set(question.name, await prompt.ask({ ...question, read: readBy(question.schema) }));
  return {
    kind,
    model: { baseUrl: model.get('baseUrl')!, name: model.get('model')!, path: model.get('modelPath')! },
  };
}

/** @throws CliError (exit 2) with every flag that is missing. */
function refuseMissing(hasKind: boolean, open: readonly { usage: string }[]): void {
  const missing = [
    ...(hasKind ? [] : [`one of ${KIND_FLAGS.map(({ usage }) => usage).join(', ')}`]),
    ...open.map(({ usage }) => usage),
  ];
  if (missing.length === 0) return;
  throw new CliError(`Nobody can be asked here, so flags are missing: ${missing.join('; ')}. Nothing was written.`, {
    type: 'Cli.Usage',
  });
}

/** What the flags say that there is; null if they say nothing. @throws CliError */
function kindOf({ gateway, program, command, python, benchmark }: InitFlags): InitAnswers['kind'] | null {
  if (gateway === true) return { starts: 'gateway' };
  if (program === true) return { starts: 'new-program' };
  if (python !== undefined) return { starts: 'python', file: checked(python, '--python', z.string().min(1)) };
  if (command !== undefined) {
    const words = commandWords(command);
    if ('fault' in words) throw refused('--command', command, words.fault);
    return { starts: 'command', ...words };
  }
  if (benchmark === undefined) return null;
  const found = benchmarks().find(({ kind }) => kind === benchmark);
  if (found === undefined) throw refused('--benchmark', benchmark, allowedBenchmarks());
  return { starts: 'benchmark', benchmark: found };
}

const allowedBenchmarks = (): string => {
  const names = benchmarks().map(({ kind }) => JSON.stringify(kind));
  return names.length === 0 ? 'There is no benchmark yet.' : `Allowed: ${names.join(', ')}.`;
};

/** Asks what there is. Benchmarks are asked for where there are some. */
async function askKind(prompt: Prompt): Promise<InitAnswers['kind']> {
  const known = benchmarks();
  const offered = KIND_FLAGS.filter(({ name }) => name !== 'command' && (name !== 'benchmark' || known.length > 0));
  const starts = await prompt.ask({
    about: [
      'What is there?',
      ...offered.map(({ name, about }, place) => `  ${place + 1}  ${name}: ${about}`),
      'Number or word',
    ].join('\n'),
    read: (text) => {
      const chosen = offered[Number(text) - 1] ?? offered.find(({ name }) => name === text.toLowerCase());
      const words = offered.map(({ name }) => name).join(', ');
      return chosen === undefined ? { fault: `Allowed: 1 to ${offered.length}, or ${words}.` } : { value: chosen.name };
    },
  });
  if (starts === 'gateway') return { starts };
  if (starts === 'program') return askCommand(prompt);
  if (starts === 'python')
    return {
      starts,
      file: await prompt.ask({ about: 'Its file', read: readBy(z.string().min(1)) }),
    };
  const benchmark = await prompt.ask<Benchmark>({
    about: [...known.map(({ kind, about }) => `  ${kind}  ${about}`), 'Its name'].join('\n'),
    read: (text) => {
      const found = known.find(({ kind }) => kind === text);
      return found === undefined ? { fault: allowedBenchmarks() } : { value: found };
    },
  });
  return { starts: 'benchmark', benchmark };
}

const askCommand = (prompt: Prompt): Promise<InitAnswers['kind']> =>
  prompt.ask<InitAnswers['kind']>({
    about: 'Its command (nothing: a starter in Python is written)',
    read: (text) => {
      if (text === '') return { value: { starts: 'new-program' } };
      const words = commandWords(text);
      return 'fault' in words ? words : { value: { starts: 'command', ...words } };
    },
  });

const flagOf = (usage: string): string => usage.split(' ', 1)[0]!;

/** Reads an answer by a schema of texts. */
function readBy(schema: z.ZodType<string>): (text: string) => { value: string } | { fault: string } {
  return (text) => {
    const { success, data, error } = schema.safeParse(text);
    if (success) return { value: data };
    return { fault: text === '' ? 'An answer is needed.' : `Allowed: ${error.issues[0]!.message}.` };
  };
}

/** @throws CliError (exit 2) */
function checked(text: string, flag: string, schema: z.ZodType<string>): string {
  const read = readBy(schema)(text.trim());
  if ('fault' in read) throw refused(flag, text, read.fault);
  return read.value;
}

const refused = (flag: string, text: string, fault: string): CliError =>
  new CliError(`${flag}: ${JSON.stringify(text)} is not allowed. ${fault}`, { type: 'Cli.Usage' });
