import type { Dialect, AnswerNames } from './dialect';
import { ChunkReader, ErrorInStream, type Said, type SaidTexts } from './said';
import { eventsIn } from './server-sent-events';

/** Translates the events of a streamed chat completion to those of another dialect. */
export class StreamTranslation {
  private readonly reader = new ChunkReader();
  private readonly writer;
  private readonly all: SaidTexts = { reasoning: '', text: '', refusal: '' };
  private hasBegun = false;
  private isDone = false;

  /** @param mostCharacters largest answer, since some dialects repeat it at its end. */
  constructor(
    dialect: Dialect,
    names: AnswerNames,
    private readonly mostCharacters: number,
  ) {
    this.writer = dialect.writer(names);
  }

  /** Whether the answer ended with an error. */
  hasFailed = false;

  /** Memory of the answer so far, in bytes. */
  get held(): number {
    return 2 * this.characters;
  }

  private get characters(): number {
    const { reasoning, text, refusal } = this.all;
    return reasoning.length + text.length + refusal.length + this.reader.callCharacters;
  }

  /** The events for whole events of a chat completion. Texts go on at once; tool calls wait for the answer's end. */
  push(events: string): string {
    const found = eventsIn(events);
    if ('fault' in found) return this.fail(`The model server sent ${found.fault}.`);
    let written = '';
    for (const { data } of found) {
      if (this.isDone) break;
      if (data === '[DONE]') {
        this.reader.hasEnded = true;
        continue;
      }
      try {
        const texts = this.reader.read(JSON.parse(data));
        written += this.begun();
        this.all.reasoning += texts.reasoning;
        this.all.text += texts.text;
        this.all.refusal += texts.refusal;
        if (this.characters > this.mostCharacters)
          return written + this.fail(`The model server answered with more than ${this.mostCharacters} characters.`);
        if (texts.reasoning || texts.text || texts.refusal) written += this.writer.said(texts);
      } catch (error) {
        const isServers = error instanceof ErrorInStream;
        return written + this.fail(isServers ? error.message : 'The model server sent what is no chat completion.');
      }
    }
    return written;
  }

  /** The events that end the answer; an error where the server did not say that its answer ends. */
  end(): string {
    if (this.isDone) return '';
    if (!this.reader.hasEnded) return this.fail('The model server ended its answer early.');
    this.isDone = true;
    return this.begun() + this.writer.finish({ ...this.all, ...this.reader.rest() });
  }

  /** An error in place of the rest. Nothing comes after it. */
  fail(message: string): string {
    if (this.isDone) return '';
    this.isDone = true;
    this.hasFailed = true;
    return this.begun() + this.writer.fail(message);
  }

  private begun(): string {
    if (this.hasBegun) return '';
    this.hasBegun = true;
    return this.writer.begin();
  }
}

/** The events of an answer that is whole already. */
export function eventsOf(said: Said, dialect: Dialect, names: AnswerNames): string {
  const writer = dialect.writer(names);
  return writer.begin() + writer.said(said) + writer.finish(said);
}
