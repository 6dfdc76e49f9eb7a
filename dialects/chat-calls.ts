/** Tool calls of OpenAI's chat completions, as servers write them. */

/** A tool call, or a piece of one in a stream. */
export interface WireCall {
  id?: string | null;
  type?: unknown;
  function?: { name?: string | null; arguments?: unknown } | null;
}

/** Servers write no arguments as null or as empty text too, and some write the object itself. */
export function argumentsOf(called: WireCall['function']): unknown {
  const given = called?.arguments ?? '';
  return typeof given === 'object' ? JSON.stringify(given) : given;
}

/** A whole tool call of a stream. */
interface StreamedCall {
  index: number;
  id: string;
  function: { name: string; arguments: string };
}

/** About what a call without a name and arguments needs in memory, in characters. */
const EMPTY_CALL_CHARACTERS = 100;

/** Tool calls of a stream, which come in pieces. */
export class StreamedCalls {
  /** Characters of all calls so far. */
  characters = 0;
  private readonly calls: StreamedCall[] = [];
  // A model server names the indexes: they are no places of a list.
  private readonly newest = new Map<number, StreamedCall>();

  /** Adds a piece. Some servers send no indexes, or one for all calls: another id and a name begin another call. */
  add({ index: given, id, function: called }: WireCall & { index?: unknown }): void {
    const index = given === undefined ? (this.calls.at(-1)?.index ?? 0) : given;
    if (typeof index !== 'number' || !Number.isSafeInteger(index) || index < 0)
      throw new RangeError('A tool call of a streamed answer has an index that is none.');
    let call = this.newest.get(index);
    if (call === undefined || (call.id !== '' && id && id !== call.id && called?.name)) {
      call = { index, id: '', function: { name: '', arguments: '' } };
      this.calls.push(call);
      this.newest.set(index, call);
      this.characters += EMPTY_CALL_CHARACTERS;
    }
    const before = lengthOf(call);
    // Some servers repeat both with every piece.
    if (id !== call.id) call.id += id ?? '';
    if (called?.name !== call.function.name) call.function.name += called?.name ?? '';
    call.function.arguments += String(argumentsOf(called));
    this.characters += lengthOf(call) - before;
  }

  /** The calls in the order of their indexes. */
  get made() {
    return this.calls.toSorted((a, b) => a.index - b.index);
  }
}

const lengthOf = ({ id, function: called }: StreamedCall): number =>
  id.length + called.name.length + called.arguments.length;
