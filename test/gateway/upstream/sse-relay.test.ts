// tier: unit
import type { ServerResponse } from 'node:http';
import { BrokenStream, SseRelay } from '../../../gateway/upstream/sse-relay';

function relayed(chunks: readonly Buffer[]) {
  const written: Buffer[] = [];
  let held = 0;
  const holds: number[] = [];
  const response = { write: (piece: Buffer) => written.push(Buffer.from(piece)) > 0, end: () => undefined };
  const relay = new SseRelay(response as unknown as ServerResponse, {
    start: () => undefined,
    onPiece: null,
    translation: null,
    silentMs: 60_000,
    hold: (bytes) => {
      holds.push(bytes);
      held = Math.max(held, bytes);
    },
  });
  for (const chunk of chunks) relay.push(chunk);
  const beforeEnd = Buffer.concat(written).toString();
  relay.end();
  return { text: Buffer.concat(written).toString(), beforeEnd, held, holds };
}

const pieces = (text: string, bytes: number): Buffer[] => {
  const data = Buffer.from(text);
  return Array.from({ length: Math.ceil(data.length / bytes) }, (_, i) => data.subarray(i * bytes, (i + 1) * bytes));
};

describe('SseRelay', () => {
  const stream = `data: {"a":"é"}\n\nevent: x\r\ndata: {"b":\r\ndata: 2}\r\n\r\n: c\n\ndata: [DONE]\n\n`;

  it.each([1, 2, 3, 5, 1000])('gives the same bytes when they come %d at a time', (bytes) => {
    expect(relayed(pieces(stream, bytes)).text).toBe(stream);
  });

  it.each([1, 2, 3, 5, 1000])(
    'does not wait for the end of a stream with the oldest ends of lines (%d at a time)',
    (bytes) => {
      const old = stream.replaceAll('\r\n', '\r').replaceAll('\n', '\r');
      expect(relayed(pieces(old, bytes)).beforeEnd).toBe(old);
    },
  );

  it.each([1, 2, 3, 5, 1000])('takes a byte order mark from the start alone (%d at a time)', (bytes) => {
    const marked = stream.replace('{"a":"', '{"a":"\ufeff');
    expect(relayed(pieces(`\ufeff${marked}`, bytes)).text).toBe(marked);
  });

  it('holds an event of 10 MB in about as much memory', () => {
    const event = `data: {"x":"${'y'.repeat(10_000_000)}"}\n\n`;
    const { text, held } = relayed(pieces(event, 65_536));
    expect(text === event).toBe(true);
    expect(held).toBeLessThan(2 * event.length);
  });

  it('holds many small chunks in about as much memory as their bytes', () => {
    const event = `data: {"x":"${'y'.repeat(200_000)}"}\n\n`;
    const { text, held } = relayed(pieces(event, 1));
    expect(text === event).toBe(true);
    expect(held).toBeLessThan(2 * event.length);
  });

  it('gives the memory of what waited back with the first event that says something', () => {
    const opening = `: wait\n\ndata: {"choices":[{"index":0,"delta":{"role":"assistant"}}]}\n\n`;
    const said = 'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n';
    const { holds, text } = relayed([Buffer.from(opening), Buffer.from(said)]);
    expect([holds, text]).toEqual([[opening.length, 0], opening + said]);
  });

  it('does not wait for the end of an event above 16 MB', () => {
    const chunks = pieces(`data: ${'y'.repeat(17_000_000)}`, 1_000_000);
    expect(() => relayed(chunks)).toThrow(BrokenStream);
  });
});
