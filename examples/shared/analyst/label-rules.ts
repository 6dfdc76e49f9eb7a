import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { type Judgement, UnknownQuestionError } from './answers';
import type { Turn } from './transcript';

const answerSchema = z.union([
  z.object({ label: z.enum(['NA', 'PRESENT', 'LACKING']), step: z.int().nullable(), reason: z.string() }),
  z.object({ error: z.string() }),
]);

/** The rules of a world's labels.py, in a Python process of their own. */
interface LabelRules {
  /** Rejects where the rules cannot be loaded. What is wrong with them stands on standard error. */
  ready: Promise<void>;
  /** Rejects with UnknownQuestionError where the rules raise or return something else, otherwise where they ended. */
  judge(capability: string, turns: readonly Turn[]): Promise<Judgement>;
  close(): void;
}

/** Starts the process. The rules are code of the agent's owner, as its recipe is: no jail. */
export function openLabelRules(path: string): LabelRules {
  const worker = spawn(process.env['WHET_PYTHON'] ?? 'python3', ['-B', sourceFile('label_worker.py'), path], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const waiting: { resolve: (line: string) => void; reject: (error: Error) => void }[] = [];
  let ended: Error | null = null;
  let isLoaded: () => void = () => undefined;
  let isFaulty: (error: Error) => void = () => undefined;
  const ready = new Promise<void>((resolve, reject) => {
    isLoaded = resolve;
    isFaulty = reject;
  });
  // Who does not wait for it hears of the fault by the first question.
  ready.catch(() => undefined);
  const end = (error: Error) => {
    ended ??= error;
    isFaulty(ended);
    for (const { reject } of waiting.splice(0)) reject(ended);
  };
  worker.once('error', (error) => end(new Error(`The label rules ${path} did not start: ${error.message}`)));
  worker.once('exit', (code) => end(new Error(`The label rules ${path} ended with code ${code}.`)));
  worker.stdin.on('error', () => undefined);
  const answers = createInterface({ input: worker.stdout });
  answers.once('line', () => {
    isLoaded();
    answers.on('line', (line) => waiting.shift()?.resolve(line));
  });
  return {
    ready,
    async judge(capability, turns) {
      const line = await new Promise<string>((resolve, reject) => {
        if (ended) return reject(ended);
        waiting.push({ resolve, reject });
        worker.stdin.write(`${JSON.stringify({ capability, turns })}\n`);
      });
      const answer = answerSchema.parse(JSON.parse(line));
      if ('error' in answer) throw new UnknownQuestionError(`Correct ${path}: ${answer.error}`);
      return answer;
    },
    close: () => void worker.kill(),
  };
}

/** A file beside this one, or beside the source from which this one was compiled. */
function sourceFile(name: string): string {
  const tail = join('examples', 'shared', 'analyst', name);
  for (let directory = __dirname; ; directory = dirname(directory)) {
    if (existsSync(join(directory, tail))) return join(directory, tail);
    if (directory === dirname(directory)) throw new Error(`${tail} was not found above ${__dirname}.`);
  }
}
