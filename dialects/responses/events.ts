import type { AnswerNames, EventWriter } from '../dialect';
import type { Said, SaidCall, SaidTexts } from '../said';
import { eventText } from '../server-sent-events';
import { callItem, messageItem, reasoningItem, reasoningPart, refusalPart, textPart } from './items';

/** Writes a response as events. Reasoning comes before the message, as model servers send them. */
export class ResponsesWriter implements EventWriter {
  private sequence = 0;
  private output = 0;
  /** The item that grows now, and the parts that it has. */
  private growing: 'reasoning' | 'message' | null = null;
  private readonly parts: ('text' | 'refusal')[] = [];
  /** The reasoning so far. */
  private thought = '';

  /** @param response the body; its first argument is null while the answer has only begun. */
  constructor(
    private readonly names: AnswerNames,
    private readonly response: (said: Said | null, names: AnswerNames) => object,
  ) {}

  begin(): string {
    const response = this.response(null, this.names);
    return this.event('response.created', { response }) + this.event('response.in_progress', { response });
  }

  said({ reasoning, text, refusal }: SaidTexts): string {
    let written = '';
    if (reasoning !== '' && this.growing !== 'message') {
      written += this.grow('reasoning');
      this.thought += reasoning;
      written += this.event('response.reasoning_text.delta', { ...this.place(0), delta: reasoning });
    }
    if (text !== '') {
      const [place, begun] = this.part('text');
      written += begun + this.event('response.output_text.delta', { ...place, delta: text, logprobs: [] });
    }
    if (refusal !== '') {
      const [place, begun] = this.part('refusal');
      written += begun + this.event('response.refusal.delta', { ...place, delta: refusal });
    }
    return written;
  }

  finish(said: Said): string {
    const saidNothing = said.text === '' && said.refusal === '' && said.calls.length === 0;
    let written = saidNothing ? this.part('text')[1] : '';
    if (this.growing !== null) written += this.endItem(said);
    said.calls.forEach((call, place) => (written += this.call(call, place)));
    const type = said.end === 'length' || said.end === 'filter' ? 'response.incomplete' : 'response.completed';
    return written + this.event(type, { response: this.response(said, this.names) });
  }

  fail(message: string): string {
    return this.event('error', { code: 'server_error', message, param: null });
  }

  private event(type: string, members: object): string {
    return eventText({ type, sequence_number: this.sequence++, ...members }, type);
  }

  private get itemId(): string {
    return `${this.growing === 'reasoning' ? 'rs' : 'msg'}_${this.names.id}`;
  }

  private place(part: number) {
    return { item_id: this.itemId, output_index: this.output, content_index: part };
  }

  private grow(kind: 'reasoning' | 'message'): string {
    if (this.growing === kind) return '';
    const ended = this.growing === null ? '' : this.endReasoning();
    this.growing = kind;
    const { id } = this.names;
    const item =
      kind === 'reasoning'
        ? reasoningItem(id, '', 'in_progress')
        : messageItem(id, { reasoning: '', text: '', refusal: '' }, 'in_progress');
    const begun = ended + this.event('response.output_item.added', { output_index: this.output, item });
    if (kind === 'message') return begun;
    return begun + this.event('response.content_part.added', { ...this.place(0), part: reasoningPart('') });
  }

  /** The place of a part of the message, and the events that begin it. */
  private part(kind: 'text' | 'refusal'): [place: object, begun: string] {
    const grown = this.grow('message');
    const known = this.parts.indexOf(kind);
    if (known !== -1) return [this.place(known), grown];
    const place = this.place(this.parts.push(kind) - 1);
    const part = kind === 'text' ? textPart('') : refusalPart('');
    return [place, grown + this.event('response.content_part.added', { ...place, part })];
  }

  private endReasoning(): string {
    const item = reasoningItem(this.names.id, this.thought);
    const done = this.event('response.reasoning_text.done', { ...this.place(0), text: this.thought });
    const part = reasoningPart(this.thought);
    const ended = done + this.event('response.content_part.done', { ...this.place(0), part });
    return ended + this.event('response.output_item.done', { output_index: this.output++, item });
  }

  private endItem(said: Said): string {
    if (this.growing === 'reasoning') return this.endReasoning();
    let written = '';
    this.parts.forEach((kind, index) => {
      const place = this.place(index);
      const isText = kind === 'text';
      written += isText
        ? this.event('response.output_text.done', { ...place, text: said.text, logprobs: [] })
        : this.event('response.refusal.done', { ...place, refusal: said.refusal });
      const part = isText ? textPart(said.text) : refusalPart(said.refusal);
      written += this.event('response.content_part.done', { ...place, part });
    });
    const item = { ...messageItem(this.names.id, said), content: this.parts.map((kind) => partOf(kind, said)) };
    return written + this.event('response.output_item.done', { output_index: this.output++, item });
  }

  private call(call: SaidCall, place: number): string {
    const { id } = this.names;
    const output_index = this.output++;
    const item = callItem(id, call, place);
    const at = { item_id: item.id, output_index };
    return (
      this.event('response.output_item.added', { output_index, item: callItem(id, call, place, 'in_progress') }) +
      this.event('response.function_call_arguments.delta', { ...at, delta: call.arguments }) +
      this.event('response.function_call_arguments.done', { ...at, name: call.name, arguments: call.arguments }) +
      this.event('response.output_item.done', { output_index, item })
    );
  }
}

const partOf = (kind: 'text' | 'refusal', said: Said) =>
  kind === 'text' ? textPart(said.text) : refusalPart(said.refusal);
