// tier: unit
import { RequestBody } from '../../../gateway/http/replace-model-name';

/** A body in memory of its own, with room behind it. */
function bodyOf(text: string, spare: number): RequestBody {
  const length = Buffer.byteLength(text);
  const memory = Buffer.alloc(length + spare, '#');
  memory.write(text);
  return new RequestBody({ bytes: memory.subarray(0, length), spare }, JSON.parse(text) as Record<string, unknown>);
}

/** The name exchanged once where it lies and once in a copy: the same bytes. */
function splice(text: string): string {
  const inPlace = bodyOf(text, 256).withModel('new').toString();
  expect(bodyOf(text, 0).withModel('new').toString()).toBe(inPlace);
  return inPlace;
}

const long = JSON.stringify('say "model" or \\ "model'.repeat(500));

describe('the model name in a body', () => {
  it.each([
    ['first', '{"model":"old","a":1}', '{"model":"new","a":1}'],
    ['last, with spaces', '{"a": {"model": "b"} , "model" :  "old" }', '{"a": {"model": "b"} , "model" :  "new" }'],
    ['behind a long text', `{"a":${long},"model":"old"}`, `{"a":${long},"model":"new"}`],
    ['between long texts', `{"a":${long},"model":"old","b":${long}}`, `{"a":${long},"model":"new","b":${long}}`],
    ['before a long text', `{"model":"o\\"ld","b":[${long}]}`, `{"model":"new","b":[${long}]}`],
    ['beside a value of the same spelling', '{"role":"model","model":"old"}', '{"role":"model","model":"new"}'],
    ['behind a string that ends like it', '{"a":"x\\"model","model":"old"}', '{"a":"x\\"model","model":"new"}'],
  ])('is replaced and nothing else: %s', (_name, text, expected) => expect(splice(text)).toBe(expected));

  it.each([
    ['twice', '{"model":"x","model":"old"}'],
    ['in escapes', '{"mod\\u0065l":"old"}'],
    ['plainly, then in escapes', '{"model":"x","mod\\u0065l":"old"}'],
    ['in escapes beside a nested one', '{"mod\\u0065l":"old","a":{"model":"x"}}'],
    ['in escapes beside a nested one far from the start', `{"mod\\u0065l":"old","b":${long},"a":{"model":"old"}}`],
  ])('cannot be read as another one when it is there %s', (_name, text) => {
    const parsed = JSON.parse(splice(text)) as Record<string, unknown>;
    expect(parsed).toEqual({ ...(JSON.parse(text) as object), model: 'new' });
  });

  it.each([0, 3, 256])(
    'can be exchanged again, with %s bytes of room, and what was given before stays as it was',
    (spare) => {
      const body = bodyOf('{"a":1,"model":"old","b":"ende"}', spare);
      const names = ['x', 'a much longer name', 'old', 'y'];
      const given = names.map((name) => body.withModel(name));
      expect(given.map(String)).toEqual(names.map((name) => `{"a":1,"model":"${name}","b":"ende"}`));
    },
  );

  it('holds for random bodies', () => {
    let state = 7;
    const random = (n: number) => (state = (Math.imul(state, 1103515245) + 12345) >>> 0) % n;
    const value = (depth: number): unknown => {
      const kind = random(depth > 2 ? 3 : 5);
      if (kind === 0) return ['model', '\\', '"model"', '{"model":"a"}', 'x'.repeat(random(3000))][random(5)];
      if (kind === 1) return random(1000) / 7;
      if (kind === 2) return null;
      if (kind === 3) return Array.from({ length: random(4) }, () => value(depth + 1));
      return Object.fromEntries(
        Array.from({ length: random(4) }, () => [['model', 'a', 'b"', '\\'][random(4)], value(depth + 1)]),
      );
    };
    for (let i = 0; i < 500; i++) {
      const fields = Object.entries({ a: value(0), b: value(0), c: value(0) });
      fields.splice(random(4), 0, ['model', 'old "x" \\']);
      const body = Object.fromEntries(fields);
      expect(JSON.parse(splice(JSON.stringify(body, null, random(3))))).toEqual({ ...body, model: 'new' });
    }
  });
});
