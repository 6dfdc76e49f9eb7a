import { createInterface, type Interface } from 'node:readline/promises';
import { cleanText } from '../../contracts/clean-text';
import { CliError } from '../errors';
import type { Terminal } from '../output';

/** A question, and how its answer is read. */
interface Question<Value> {
  /** The question in words, without a colon. */
  about: string;
  /** The answer of a person who says nothing. */
  suggestion?: string;
  /** Reads an answer without blanks around it. `fault` says what is allowed; then the question is asked again. */
  read: (text: string) => { value: Value } | { fault: string };
}

/** Asks questions in a terminal. */
export class Prompt implements Disposable {
  private reader: Interface | null = null;
  private lines!: AsyncIterator<string>;
  private isClosed = false;

  constructor(private readonly terminal: Terminal) {}

  /** Asks until the answer can be read. @throws CliError (exit 2) when the answers end. */
  async ask<Value>({ about, suggestion, read }: Question<Value>): Promise<Value> {
    for (;;) {
      const text = (await this.line(`${about}${suggestion === undefined ? '' : ` [${suggestion}]`}: `)).trim();
      const result = read(text === '' && suggestion !== undefined ? suggestion : text);
      if ('value' in result) return result.value;
      const found = text === '' ? '' : `${JSON.stringify(text)} is not allowed. `;
      this.terminal.output.write(cleanText(`${found}${result.fault}\n`));
    }
  }

  [Symbol.dispose](): void {
    this.reader?.close();
  }

  /** The next line. Lines that come before they are asked for, as pasted ones do, are kept. */
  private async line(question: string): Promise<string> {
    if (this.reader === null) {
      this.reader = createInterface(this.terminal).once('close', () => (this.isClosed = true));
      this.lines = this.reader[Symbol.asyncIterator]();
    }
    const [last, ...before] = question.split('\n').reverse() as [string, ...string[]];
    for (const text of before.reverse()) this.terminal.output.write(`${text}\n`);
    this.reader.setPrompt(last);
    // After the end of the input, lines of it may be left.
    if (this.isClosed) this.terminal.output.write(last);
    else this.reader.prompt();
    const line = await this.lines.next();
    if (line.done === true) throw new CliError('The answers ended early. Nothing was written.', { type: 'Cli.Usage' });
    return line.value;
  }
}
