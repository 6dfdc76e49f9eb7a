// tier: integration
import { mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { makeTemporaryFolder } from '../../contracts/temporary-folders';
import { createRedaction } from '../../contracts/redact-message';
import { brief, fixture, ingesting, REFUND } from './ingested';

const { run, store, folder } = ingesting();
let files = 0;
/** A new file with these bytes or lines. */
function file(content: string | Buffer | unknown[], name = 'traces.jsonl'): string {
  const path = join(folder, `${++files}-${name}`);
  writeFileSync(path, Array.isArray(content) ? content.map((line) => `${JSON.stringify(line)}\n`).join('') : content);
  return path;
}
const chat = (id: string, ...texts: string[]) => ({
  id,
  messages: texts.map((content, turn) => ({ role: turn % 2 === 0 ? 'user' : 'assistant', content })),
});
const reasons = ({ formats }: Awaited<ReturnType<typeof run>>['result']) =>
  formats.flatMap(({ leftOut }) => leftOut.map(({ reason, count }) => `${count} ${reason}`));

it('keeps what formats say apart, also where they begin alike', async () => {
  const files = [fixture('openai/fine-tuning.jsonl'), fixture('anthropic/requests.jsonl')];
  expect((await run(files)).result.formats.map(({ format, conversations }) => [format, conversations]).sort()).toEqual([
    ['anthropic', 1],
    ['openai', 1],
  ]);
});

describe('the same again', () => {
  it('adds nothing, from files of any number', async () => {
    const path = file([{ ...chat('a', 'hi', 'hello'), success: true }, chat('b', 'hi', 'bye')]);
    await run([path], { agent: 'again' });
    const names = await store.list('ingested/again/conversations');
    const { result } = await run([path, path], { agent: 'again', now: Date.parse('2026-12-01') });
    expect(result).toMatchObject({ formats: [{ conversations: 2, added: 0, known: 2 }], outcomes: 0 });
    expect(await store.list('ingested/again/conversations')).toEqual(names);
  });

  it('adds what a file has grown by, and of a longer conversation its new version', async () => {
    await run([file([chat('a', 'hi', 'hello')])], { agent: 'grown' });
    const { result, read } = await run(
      [file([chat('a', 'hi', 'hello', 'refund', 'done'), { ...chat('b', 'hi'), success: false }])],
      { agent: 'grown', outcomes: file('id,resolved\na,yes\n', 'outcomes.csv') },
    );
    expect(result.formats).toMatchObject([{ conversations: 2, added: 2, known: 0, withOutcome: 2 }]);
    expect(read.counts).toEqual({ conversations: 2, withoutOutcome: 0, unreadable: 0 });
    expect(read.trajectories.map(({ messages }) => messages.length).sort()).toEqual([1, 4]);
  });
});

it('takes a log without ids of conversations for the same ones when it has grown', async () => {
  const request = (id: string, ...texts: string[]) => ({ ...chat(id, ...texts), request_id: `req_${id}` });
  const monday = [request('1', 'hi', 'hello'), request('2', 'hi', 'hello', 'refund', 'done')].map(
    ({ id: _, ...line }) => line,
  );
  const { id: _, ...grown } = request('3', 'hi', 'hello', 'refund', 'done', 'thanks', 'bye');
  await run([file(monday)], { agent: 'daily' });
  const outcomes = file('id,outcome\nreq_2,yes\n', 'daily.csv');
  const { read } = await run([file([...monday, grown])], { agent: 'daily', outcomes });
  expect(read.counts).toEqual({ conversations: 1, withoutOutcome: 0, unreadable: 0 });
  expect(read.trajectories.map(({ messages }) => messages.length)).toEqual([6]);
});

describe('outcomes', () => {
  const lines = [chat('a', 'one', 'x'), chat('b', 'two', 'x'), chat('c', 'three', 'x')];
  const outcomeOf = ({ read }: Awaited<ReturnType<typeof run>>) =>
    Object.fromEntries(read.trajectories.map(({ messages, success }) => [messages[0]?.content, success]));

  it('of a later file are joined by the id, and the latest counts', async () => {
    const agent = 'later';
    await run([file([{ ...lines[0], success: false }, lines[1]])], { agent });
    const outcomes = file([
      { conversation_id: 'a', outcome: 'thumbs_up' },
      { id: 'b', status: 'Unresolved' },
    ]);
    const found = await run([file(lines)], { agent, outcomes, now: Date.parse('2026-12-01') });
    expect(outcomeOf(found)).toEqual({ one: true, two: false });
    expect(found.read.counts.withoutOutcome).toBe(1);
  });

  it('of a file or a rule stay when the traces are read again without it', async () => {
    const traces = file([
      { ...lines[0], score: 0.9 },
      { ...lines[1], score: 0.6 },
    ]);
    const outcomes = file('id,outcome\na,no\n', 'owners.csv');
    const pass = { name: 'score', compare: '>=' as const, value: '0.7' };
    for (const options of [{ outcomes, pass }, { now: Date.parse('2026-12-01') }]) {
      const found = await run([traces], { agent: 'owners', ...options });
      expect(outcomeOf(found)).toEqual({ one: false, two: false });
      expect(found.result.outcomes).toBe('pass' in options ? 2 : 0);
    }
  });

  it('of a CSV file may be quoted, and lines without an id or outcome are named', async () => {
    const outcomes = file(
      '\ufeffid;x,"note, long",score\n"a","say ""hi""\nthere",0.9\n,x,1\nb,,\n'.replace('id;x', 'id'),
      'o.csv',
    );
    const found = await run([file(lines)], { outcomes });
    expect(outcomeOf(found)).toEqual({ one: true });
    expect(
      found.result.noOutcome.map(({ reason, places }) => [reason.split(' (')[0], places[0]?.split(':')[1]]),
    ).toEqual([
      ['no id', '4'],
      ['no outcome', '5'],
    ]);
  });

  it('are joined by the id also where a column has no name, and those of no stored conversation are counted', async () => {
    const outcomes = file(',trace_id,outcome\n0,a,yes\n1,c,no\n2,d,no\n3,elsewhere,no\n', 'frame.csv');
    await run([file([chat('d', 'four', 'x')])], { agent: 'frame' });
    const found = await run([file(lines)], { agent: 'frame', outcomes });
    expect(outcomeOf(found)).toEqual({ one: true, three: false, four: false });
    expect(found.result.noOutcome).toEqual([
      { reason: 'an outcome of a conversation that is not stored', count: 1, places: ['elsewhere'] },
    ]);
  });

  it('are no technical states of logs, unless a rule names them', async () => {
    const log = file([
      { ...lines[0], status: 'success', metadata: { status: 'failed', result: 'pass' } },
      { ...lines[1], status: 'completed', metadata: { score: 0, outcome: { kind: 'x' } } },
      { ...lines[2], status: 'error', rating: 1 },
    ]);
    const found = await run([log]);
    expect(outcomeOf(found)).toEqual({ two: false, three: true });
    expect(found.result.decidedBy.map(({ name, count }) => [name, count]).sort()).toEqual([
      ['rating', 1],
      ['score', 1],
    ]);
    const ruled = await run([log], { pass: { name: 'status', compare: '=', value: 'completed' } });
    expect(outcomeOf(ruled)).toEqual({ one: false, two: true, three: false });
  });

  it('of a file with another scale mean nothing, unless a rule reads them; it may name any column', async () => {
    const outcomes = file('id,rating,csat\na,1,x\nb,2,x\nc,5,good\n', 'stars.csv');
    const { result, read } = await run([file(lines)], { outcomes });
    expect([result.outcomes, read.trajectories]).toEqual([0, []]);
    expect(result.noOutcome).toMatchObject([
      { reason: "'rating' has values that mean neither pass nor fail: choose with --pass", count: 3 },
    ]);
    const stars = await run([file(lines)], { outcomes, pass: { name: 'Rating', compare: '>=', value: '2' } });
    expect(outcomeOf(stars)).toEqual({ one: false, two: true, three: true });
    expect(stars.read.trajectories.map(({ reward }) => reward).sort()).toEqual([0, 1, 1]);
    const words = await run([file(lines)], { outcomes, pass: { name: 'csat', compare: '=', value: 'good' } });
    expect(outcomeOf(words)).toEqual({ one: false, two: false, three: true });
  });

  it('of several scores count where they agree, and a rule chooses one', async () => {
    const score = (id: string, name: string, value: unknown) => ({ id: `${id}-${name}`, traceId: id, name, value });
    const scores = file([
      ...[score('a', 'correct', 1), score('a', 'polite', 0.8)],
      ...[score('b', 'correct', 0.2), score('b', 'polite', 0.9), score('c', 'stars', 4)],
    ]);
    const found = await run([file(lines), scores]);
    expect(outcomeOf(found)).toEqual({ one: true });
    expect(found.result.noOutcome.map(({ reason }) => reason).sort()).toEqual([
      "'stars' has values that mean neither pass nor fail: choose with --pass",
      'scores disagree (correct, polite): choose one with --pass',
    ]);
    const rule = { name: 'correct', compare: '>=' as const, value: '0.1' };
    expect(outcomeOf(await run([file(lines), scores], { pass: rule }))).toEqual({ one: true, two: true });
  });
});

describe('files', () => {
  it('of a folder and .gz files are read; links and other kinds are named', async () => {
    const path = join(folder, 'some', 'inner');
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, 'a.jsonl.gz'), gzipSync(readFileSync(fixture('openai/log.jsonl'))));
    writeFileSync(join(path, 'notes.pdf'), 'x');
    symlinkSync('/etc/hostname', join(path, 'link.jsonl'));
    const { conversations, result } = await run([join(folder, 'some')]);
    expect(conversations.map(brief)).toEqual([REFUND]);
    expect(reasons(result)).toEqual([
      '1 a symbolic link in a folder',
      '1 another kind of file (.json, .jsonl, .ndjson, .gz)',
    ]);
  });

  it('that are one document are read element by element, in any layout', async () => {
    const all = ['a', 'b', 'c'].map((id) => chat(id, `of ${id} [{"`, 'x\n'));
    for (const content of [
      JSON.stringify(all),
      JSON.stringify(all, null, 2),
      JSON.stringify({ data: all, object: 'list' }, null, 1),
      `[\n${all.map((one) => JSON.stringify(one)).join(',\n')}\n]`,
    ])
      expect((await run([file(content, 'traces.json')])).conversations.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
  });

  it('that are several documents after each other, as jq writes them, are read each by itself', async () => {
    const content = [
      { ...chat('a', 'of a', 'x'), success: true },
      { ...chat('b', 'of b'), success: false },
      { data: [chat('c', 'of c')], model: 'm' },
      [chat('d', 'of d')],
      chat('e', 'of e'),
    ];
    const { conversations, read } = await run([
      file(content.map((one) => JSON.stringify(one, null, 2)).join('\n'), 'traces.json'),
    ]);
    expect(conversations.map(({ id, messages }) => [id, messages.map((one) => one.content).join()])).toEqual([
      ['a', 'of a,x'],
      ...['b', 'c', 'd', 'e'].map((id) => [id, `of ${id}`]),
    ]);
    expect(read.trajectories.map(({ success }) => success).sort()).toEqual([false, true]);
  });

  it('that begin with millions of spaces are read once', async () => {
    const packed = gzipSync(`${' '.repeat(30_000_000)}${JSON.stringify(chat('a', 'hi', 'x'))}\n`);
    expect((await run([file(packed, 'feeds.jsonl.gz')])).conversations.map(({ id }) => id)).toEqual(['a']);
  });

  it('that are cut, packed and cut, or empty cost only what is gone', async () => {
    const lines = Array.from({ length: 2000 }, (_, i) => `${JSON.stringify(chat(`c${i}`, `${i} ${i * 7919}`, 'x'))}\n`);
    const packed = gzipSync(lines.join(''));
    const { result } = await run([
      file(`${lines[0]}${lines[1]?.slice(0, 20)}`),
      file(packed.subarray(0, packed.length / 2), 'cut.jsonl.gz'),
      file(JSON.stringify([chat('x', 'hi'), chat('y', 'hi')], null, 2).slice(0, -40), 'cut.json'),
      file('', 'empty.jsonl'),
    ]);
    expect(reasons(result)).toEqual([
      expect.stringMatching(/^[23] not JSON$/),
      expect.stringMatching(/^1 the \.gz file is damaged after \d+ bytes of its content$/),
      '1 an empty file',
    ]);
    const [{ conversations = 0 } = {}] = result.formats;
    expect(conversations).toBeGreaterThan(500);
  });
});

describe('hostile lines', () => {
  it('are counted, named with their place, and kept aside', async () => {
    const path = file(
      [
        '{"messages": [',
        '"just a text"',
        '{"some": "thing"}',
        '{"id": "x", "messages": [{"role": "robot", "content": "hi"}]}',
        `{"messages": ${'['.repeat(20_000)}${']'.repeat(20_000)}}`,
        JSON.stringify(chat('fine', 'hi', 'hello')),
        '',
      ].join('\n'),
    );
    const bad = Buffer.concat([Buffer.from('{"id": "'), Buffer.from([0xff, 0xfe]), Buffer.from('"}\n')]);
    const { result, conversations } = await run([path, file(bad)], { agent: 'hostile' });
    expect(conversations.map(({ id }) => id)).toEqual(['fine']);
    const found = Object.fromEntries(
      result.formats.flatMap(({ leftOut }) => leftOut.map(({ reason, places }) => [reason, places[0]])),
    );
    expect(found).toMatchObject({
      'not JSON': `${path}:1`,
      'no known format': `${path}:2`,
      'has another form than its format allows (role)': `${path}:4`,
      'not UTF-8': expect.stringMatching(/:1$/),
    });
    const kept = (await store.getNamed(result.rejected!)).toString().trim().split('\n');
    expect(kept.map((line) => JSON.parse(line).text.slice(0, 20))).toContain('{"messages": [');
    expect(kept).toHaveLength(6);
  });

  it('cannot reach a prototype, and a NUL or half a character is only text', async () => {
    const line =
      '{"__proto__": {"polluted": 1}, "id": "__proto__", "messages": [{"role": "user", "content": "a\\u0000\\ud800"}]}';
    const { conversations } = await run([file(`${line}\n`)]);
    expect(conversations).toMatchObject([{ id: '__proto__', messages: [{ content: 'a\u0000\ud800' }] }]);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('that are too long are left out, and the next one is read', async () => {
    const long = `{"id": "${'x'.repeat(33 * 2 ** 20)}"}\n`;
    const { result, conversations } = await run([
      file(`${JSON.stringify(chat('a', 'hi'))}\n${long}${JSON.stringify(chat('b', 'hi'))}\n`),
    ]);
    expect(conversations.map(({ id }) => id)).toEqual(['a', 'b']);
    expect(reasons(result)).toEqual(['1 longer than 32 MiB']);
  });
});

it('redacts messages, branches and what is kept aside before anything is stored', async () => {
  const redact = createRedaction({ redact: ['email'], redactPatterns: [] });
  const path = file(`${JSON.stringify(chat('a', 'I am ann@example.org', 'Hello'))}\n{"mail": "bob@example.org"}\n`);
  const { conversations, result } = await run([path], { redact });
  expect(conversations[0]?.messages[0]?.content).toBe('I am [email]');
  expect((await store.getNamed(result.rejected!)).toString()).not.toContain('bob@');
});

it('leaves no temporary folder, and removes that of an ingest that was killed', async () => {
  const folders = () => readdirSync(tmpdir()).filter((name) => name.startsWith('whet-ingest-'));
  const left = await makeTemporaryFolder('whet-ingest');
  // A process of this number, but of another start, does not run.
  const dead = left.replace(/-\d+(-[A-Za-z0-9]{6})$/, '-1$1');
  renameSync(left, dead);
  await run([file([chat('a', 'hi')])]);
  expect(folders()).not.toContain(basename(dead));
});
