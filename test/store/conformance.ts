/** What every ArtifactStore must do, whatever it stands on. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import {
  type ArtifactStore,
  changeDocument,
  getJson,
  getLines,
  putJson,
  putLines,
  readSegment,
  StoreConflictError,
} from '../../store';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const numbered = z.strictObject({ n: z.number() });

/**
 * Tests of one kind of store.
 * @param openStore opens the same store again, as another process would.
 */
export function storeConformance(name: string, openStore: () => ArtifactStore): void {
  describe(`${name} keeps artifacts`, () => {
    const store = openStore();

    test('named after their content', async () => {
      const ref = await store.put('runs/r1', 'notes.txt', 'häßlich', { mediaType: 'text/plain', records: 1 });
      const hash = sha256('häßlich');
      const key = `runs/r1/notes-${hash.slice(0, 12)}.txt`;
      expect(ref).toEqual({ key, sha256: hash, bytes: 9, mediaType: 'text/plain', records: 1 });
      expect((await openStore().get(ref)).toString('utf8')).toBe('häßlich');
      expect((await store.getNamed(ref.key)).toString('utf8')).toBe('häßlich');
    });

    test('the same ones whether the content comes whole or in parts', async () => {
      async function* parts() {
        for (const part of ['one\n', Buffer.from('two\n'), '']) yield await Promise.resolve(part);
      }
      const whole = await store.put('parts', 'a.jsonl', 'one\ntwo\n', { records: 2 });
      expect(await store.putParts('parts', 'a.jsonl', parts(), { records: 2 })).toEqual(whole);
      expect(await store.list('parts')).toHaveLength(1);
    });

    test('and nothing of content whose source fails in the middle', async () => {
      function* failing() {
        yield 'one\n';
        throw new RangeError('no more');
      }
      await expect(store.putParts('failing', 'a.txt', failing())).rejects.toThrow('no more');
      expect(await store.list('failing')).toEqual([]);
    });

    test('of which a range is checked against its own hash', async () => {
      const ref = await store.put('range', 'a.txt', 'abcdef');
      const part = { start: 2, end: 4, sha256: sha256('cd') };
      expect((await store.range(ref, part)).toString()).toBe('cd');
      for (const wrong of [
        { ...part, sha256: sha256('xx') },
        { start: 4, end: 9, sha256: sha256('efg') },
      ])
        await expect(store.range(ref, wrong)).rejects.toMatchObject({ type: 'Store.Corrupt' });
    });

    test('whose lines come with their line feeds and the offset behind each', async () => {
      const long = 'l'.repeat((1 << 20) + 7);
      const ref = await store.put('lines', 'a.jsonl', `one\n${long}\n\nlast`);
      const lines = [];
      for await (const line of store.lines(ref)) lines.push(line);
      expect(lines.map(({ line }) => line.length)).toEqual([4, long.length + 1, 1, 4]);
      expect(lines.map(({ end }) => end)).toEqual([4, 5 + long.length, 6 + long.length, 10 + long.length]);
    });

    test('as JSON and as lines, checked by their schemas', async () => {
      const one = await putJson(store, 'json', 'one.json', { n: 1 });
      expect(await getJson(store, one, numbered)).toEqual({ n: 1 });
      const many = await putLines(store, 'json', 'many.jsonl', [{ n: 1 }, { n: 2 }]);
      expect(many).toMatchObject({ records: 2, mediaType: 'application/jsonl', sha256: sha256('{"n":1}\n{"n":2}\n') });
      expect(await getLines(store, many, numbered)).toEqual([{ n: 1 }, { n: 2 }]);
      await expect(getJson(store, one, z.strictObject({ m: z.number() }))).rejects.toThrow(z.ZodError);
    });

    test('of lines that come one after the other, with the same name as when they come together', async () => {
      async function* values() {
        for (let n = 0; n < 5_000; n++) yield await Promise.resolve({ n, text: 'x'.repeat(1_000) });
      }
      const together = [];
      for await (const value of values()) together.push(value);
      const ref = await putLines(store, 'one by one', 'many.jsonl', values());
      expect(await putLines(store, 'one by one', 'many.jsonl', together)).toEqual(ref);
      expect(ref).toMatchObject({
        records: 5_000,
        sha256: sha256(together.map((v) => `${JSON.stringify(v)}\n`).join('')),
      });
      expect((await getLines(store, ref, z.object({ n: z.number() }))).map(({ n }) => n)).toEqual(
        together.map(({ n }) => n),
      );
    });

    test('and says Store.Missing, with what to do, for one that is not there', async () => {
      const ref = { ...(await store.put('runs/r1/labels', 'a.txt', 'text')), key: 'runs/r1/labels/b-000000000000.txt' };
      const lines = async () => {
        for await (const line of store.lines(ref)) return line;
      };
      const part = { start: 0, end: 1, sha256: sha256('t') };
      for (const read of [() => store.get(ref), () => store.getNamed(ref.key), () => store.range(ref, part), lines])
        await expect(read()).rejects.toMatchObject({
          type: 'Store.Missing',
          message: `Artifact ${ref.key} is missing. whet repair r1 makes its stage again.`,
        });
    });
  });

  describe(`${name} keeps documents`, () => {
    const store = openStore();
    const other = openStore();

    test('that are null until a swap that expects none makes them', async () => {
      expect(await store.readDocument('docs/a.json')).toBeNull();
      const version = await store.swapDocument('docs/a.json', { n: 1 }, null);
      expect(await other.readDocument('docs/a.json')).toEqual({ value: { n: 1 }, version });
      expect(await store.list('docs')).toEqual(['a.json']);
    });

    test('that a swap with the current version replaces', async () => {
      const first = await store.swapDocument('b.json', 1, null);
      const second = await store.swapDocument('b.json', 2, first);
      expect(await other.readDocument('b.json')).toEqual({ value: 2, version: second });
    });

    test('that a swap with any former version leaves as they are', async () => {
      const first = await store.swapDocument('c.json', 1, null);
      const second = await store.swapDocument('c.json', 2, first);
      await store.swapDocument('c.json', 1, second);
      for (const expected of [first, second, null, 'no version']) {
        const error = await store.swapDocument('c.json', 3, expected).catch((caught: unknown) => caught);
        expect(error).toBeInstanceOf(StoreConflictError);
        expect(error).toMatchObject({ type: 'Promote.Conflict', message: expect.stringContaining('c.json') as string });
      }
      expect((await store.readDocument('c.json'))?.value).toBe(1);
    });

    test.each([true, false])('of which one of several writers at once wins (of a new document: %s)', async (isNew) => {
      const key = `race-${isNew}.json`;
      const version = isNew ? null : await store.swapDocument(key, 'start', null);
      // Equal values: a writer that lost must not take the winner's for its own.
      const outcomes = await Promise.allSettled(
        Array.from({ length: 8 }, (_, i) => (i % 2 ? store : other).swapDocument(key, 'same', version)),
      );
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      for (const outcome of outcomes)
        if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(StoreConflictError);
    });

    test('of which no update is lost when changes are repeated after conflicts', async () => {
      const add = (writer: ArtifactStore) =>
        changeDocument(writer, 'count.json', (before) => {
          const value = ((before as number | undefined) ?? 0) + 1;
          return { value, result: value };
        });
      const results = await Promise.all(Array.from({ length: 20 }, () => add(openStore())));
      expect((await store.readDocument('count.json'))?.value).toBe(20);
      expect(results.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
    });

    test('that readers always see whole while they change', async () => {
      let version = await store.swapDocument('busy.json', { n: 0, text: '' }, null);
      let isDone = false;
      const read = async () => {
        let last = 0;
        while (!isDone) {
          const { n, text } = (await other.readDocument('busy.json'))!.value as { n: number; text: string };
          expect([n >= last, text.length]).toEqual([true, n * 100]);
          last = n;
        }
      };
      const readers = [read(), read()];
      for (let n = 1; n <= 100; n++)
        version = await store.swapDocument('busy.json', { n, text: 'x'.repeat(n * 100) }, version);
      isDone = true;
      await Promise.all(readers);
    });
  });

  describe(`${name} keeps segments`, () => {
    const store = openStore();

    test('that are empty until somebody writes them', async () => {
      expect((await readSegment(store.segment('none.jsonl'), z.unknown())).values).toEqual([]);
    });

    test('whose lines come back in the order in which they were appended, by all their writers', async () => {
      for (const writer of [0, 1]) {
        const segment = openStore().segment('runs/r1/work/order.jsonl');
        await Promise.all(Array.from({ length: 50 }, (_, i) => segment.append({ n: writer * 50 + i })));
        await segment.close();
      }
      const { values, damaged } = await readSegment(store.segment('runs/r1/work/order.jsonl'), numbered);
      expect(values).toEqual(Array.from({ length: 100 }, (_, n) => ({ n })));
      expect([damaged.count, damaged.describe()]).toEqual([0, '']);
    });

    test('and sets aside a line that the schema refuses', async () => {
      const segment = store.segment('refused.jsonl');
      for (const value of [{ n: 1 }, { n: 'two' }, { n: 3 }]) await segment.append(value);
      await segment.close();
      const { values, damaged } = await readSegment(segment, numbered);
      expect([values, damaged.count]).toEqual([[{ n: 1 }, { n: 3 }], 1]);
      expect(damaged.describe()).toMatch(/^1 line was left out of refused\.jsonl: line 2 \(bytes 8 to 20\) does not/);
    });
  });
}
