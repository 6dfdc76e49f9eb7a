/** Cuts a JSON document that is too long to be parsed into the parts that are read one by one. */

/** Lists of a document whose elements are read one by one. */
export const LISTS: ReadonlySet<string> = new Set(['resourceSpans', 'simulations', 'data', 'runs', 'traces', 'items']);

/** A part of a document. */
export interface Part {
  /** Name of the member that it is, or of the list that it is an element of; null: the document is the list. */
  member: string | null;
  isElement: boolean;
  /** Null: it is longer than the limit. */
  text: Buffer | null;
  /** Line of the file in which it begins, from 1. */
  line: number;
}

const [QUOTE, BACKSLASH, COMMA, COLON, FEED] = [34, 92, 44, 58, 10];
const isOpen = (byte: number): boolean => byte === 123 || byte === 91;
const isClose = (byte: number): boolean => byte === 125 || byte === 93;
const isSpace = (byte: number): boolean => byte === 32 || byte === 9 || byte === 13 || byte === FEED;

/**
 * The elements of a list, or the members of an object, of which `LISTS` are cut into elements too. What is not JSON may
 * come in odd parts, which the reader refuses. A document that ends early ends with what there is. Several may follow
 * each other, as `jq` writes them.
 * @param most longest part, in bytes.
 * @returns null where a document ends.
 */
export async function* jsonParts(pieces: AsyncIterable<Buffer>, most: number): AsyncGenerator<Part | null> {
  const cutter = new Cutter(most);
  for await (const piece of pieces) yield* cutter.read(piece);
  yield* cutter.rest();
}

class Cutter {
  private depth = 0;
  private isText = false;
  private isEscaped = false;
  private line = 1;
  /** Depth at which a comma ends a part: 1, or 2 within a list of `LISTS`. */
  private cutAt = 1;
  private isObject = false;
  /** Name of the member that is read, once its colon was seen. */
  private member: string | null = null;
  private held: Buffer[] = [];
  private length = 0;
  private startLine = 1;
  private hasText = false;

  constructor(private readonly most: number) {}

  *read(piece: Buffer): Generator<Part | null> {
    let from = 0;
    for (let at = 0; at < piece.length; at++) {
      const byte = piece[at] as number;
      if (byte === FEED) this.line++;
      if (this.isText) {
        if (this.isEscaped) this.isEscaped = false;
        else if (byte === BACKSLASH) this.isEscaped = true;
        else if (byte === QUOTE) this.isText = false;
        continue;
      }
      if (!this.hasText && this.depth > 0 && byte !== COMMA && !isClose(byte) && !isSpace(byte)) {
        this.hasText = true;
        this.startLine = this.line;
      }
      if (byte === QUOTE) this.isText = true;
      else if (isOpen(byte)) {
        this.depth++;
        if (this.depth === 1) {
          this.isObject = byte === 123;
          from = this.begin(at);
        } else if (this.opensList(byte)) {
          this.cutAt = 2;
          from = this.begin(at);
        }
      } else if (isClose(byte)) {
        if (this.depth === 0) continue;
        this.depth--;
        if (this.depth === this.cutAt - 1) {
          yield* this.end(piece.subarray(from, at));
          from = this.begin(at);
          if (this.cutAt === 2 || this.depth === 0) this.member = null;
          this.cutAt = 1;
        }
        if (this.depth === 0) yield null;
      } else if (byte === COMMA && this.depth === this.cutAt) {
        yield* this.end(piece.subarray(from, at));
        from = this.begin(at);
        if (this.cutAt === 1) this.member = null;
      } else if (byte === COLON && this.isObject && this.depth === 1 && this.member === null) {
        this.hold(piece.subarray(from, at));
        this.member = nameOf(this.taken());
        from = this.begin(at);
      }
    }
    this.hold(piece.subarray(from));
  }

  /** What a document that ends early leaves: a part that cannot be read. */
  *rest(): Generator<Part> {
    if (this.depth > 0) yield* this.end(Buffer.alloc(0));
  }

  private opensList(byte: number): boolean {
    return byte === 91 && this.depth === 2 && this.isObject && this.member !== null && LISTS.has(this.member);
  }

  private begin(at: number): number {
    this.held = [];
    this.length = 0;
    this.hasText = false;
    return at + 1;
  }

  private hold(bytes: Buffer): void {
    this.length += bytes.length;
    if (this.length > this.most) this.held = [];
    else if (bytes.length > 0) this.held.push(bytes);
  }

  private taken(): Buffer {
    return this.held.length === 1 ? (this.held[0] as Buffer) : Buffer.concat(this.held);
  }

  private *end(bytes: Buffer): Generator<Part> {
    this.hold(bytes);
    if (!this.hasText) return;
    const text = this.length > this.most ? null : this.taken();
    yield { member: this.member, isElement: this.cutAt === 2 || !this.isObject, text, line: this.startLine };
  }
}

function nameOf(bytes: Buffer): string {
  try {
    return String(JSON.parse(bytes.toString('utf8')));
  } catch {
    return '';
  }
}
