import { runCommandLine } from '../../../cli/run-command-line';

export interface Said {
  code: number;
  stdout: string;
  stderr: string;
  /** Both, in the order in which they were written. */
  all: string;
}

/** Runs `whet` in this process and keeps what it says. */
export async function whet(...argv: string[]): Promise<Said> {
  const said: Said = { code: -1, stdout: '', stderr: '', all: '' };
  const keep =
    (stream: 'stdout' | 'stderr') =>
    (text: string | Uint8Array): boolean => {
      const words = typeof text === 'string' ? text : Buffer.from(text).toString();
      said[stream] += words;
      said.all += words;
      return true;
    };
  const spies = (['stdout', 'stderr'] as const).map((stream) =>
    jest.spyOn(process[stream], 'write').mockImplementation(keep(stream)),
  );
  try {
    said.code = await runCommandLine(argv);
  } finally {
    spies.forEach((spy) => spy.mockRestore());
    process.exitCode = undefined;
  }
  return said;
}

/**
 * What a terminal obeys: control characters, C1, direction marks, line separators. A tab and a line feed are what
 * `whet` prints itself.
 */
const OBEYED = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/;

/** Fails on a stack, on a defect of `whet`, and on text that a terminal obeys. */
export function expectPlain({ all }: Said): void {
  expect(all).not.toMatch(
    /\n {4}at |node:internal|unexpected error|Cli\.Unexpected|(Type|Range|Reference|Syntax)Error:/,
  );
  expect(all).not.toMatch(OBEYED);
}

/** Wrong input: exit code 2 and a sentence, as text and, with --json, as a document. */
export async function expectRefused(argv: string[], message: RegExp): Promise<void> {
  const plain = await whet(...argv);
  expect({ code: plain.code, said: plain.all }).toMatchObject({
    code: 2,
    said: expect.stringMatching(message) as string,
  });
  expectPlain(plain);
  const json = await whet(...argv, '--json');
  expectPlain(json);
  const { error } = JSON.parse(json.stdout) as { error: { type: string; message: string } };
  expect(json.code).toBe(2);
  expect(error.type).toMatch(/^[A-Z]\w+\.[A-Z]\w+$/);
  expect(error.message).toMatch(message);
}
