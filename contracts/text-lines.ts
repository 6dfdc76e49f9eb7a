/**
 * The lines of a stream of UTF-8, each without its newline. Only a newline ends a line: `node:readline` also splits at
 * U+2028 and U+2029, which JSON strings may contain.
 */
export async function* textLines(stream: NodeJS.ReadableStream): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk as Buffer, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  rest += decoder.decode();
  if (rest !== '') yield rest;
}
