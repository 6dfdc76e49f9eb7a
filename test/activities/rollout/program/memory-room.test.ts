// Tier: unit.
import { MemoryRoom } from '../../../../activities/rollout/program/memory-room';

const never = new AbortController().signal;

/** Actions that run until they are ended, and which of them have begun. */
function actionsIn(room: MemoryRoom) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const begin = (name: string, needs: number, closed = never) =>
    room.run(needs, closed, () => {
      begun.push(name);
      return new Promise<void>((end) => ends.set(name, end));
    });
  const end = async (name: string) => {
    ends.get(name)!();
    await settled();
  };
  return { begun, begin, end };
}
const settled = () => new Promise((resolve) => setImmediate(resolve));

test('programs of several sets share the memory, and enter in their order', async () => {
  const room = new MemoryRoom(() => 1_000);
  const { begun, begin, end } = actionsIn(room);
  void begin('a', 600);
  void begin('b', 600);
  void begin('c', 100);
  await settled();
  // There is room for c, but b was first.
  expect(begun).toEqual(['a']);
  await end('a');
  expect(begun).toEqual(['a', 'b', 'c']);
});

test('what needs more than all runs alone', async () => {
  const room = new MemoryRoom(() => 1_000);
  expect(room.placesFor(5_000)).toEqual({ size: 1_000, places: 1 });
  const { begun, begin, end } = actionsIn(room);
  void begin('small', 100);
  void begin('large', 5_000);
  void begin('next', 100);
  await settled();
  expect(begun).toEqual(['small']);
  await end('small');
  expect(begun).toEqual(['small', 'large']);
  await end('large');
  expect(begun).toEqual(['small', 'large', 'next']);
});

test('the memory is measured while nothing runs', async () => {
  let free = 1_000;
  const room = new MemoryRoom(() => free);
  const { begin, end } = actionsIn(room);
  void begin('a', 600);
  await settled();
  free = 400;
  expect(room.placesFor(100).size).toBe(1_000);
  await end('a');
  expect(room.placesFor(100)).toEqual({ size: 400, places: 4 });
});

test('who is closed no longer waits, and the next one enters', async () => {
  const room = new MemoryRoom(() => 1_000);
  const { begun, begin } = actionsIn(room);
  const closing = new AbortController();
  void begin('a', 900);
  const waits = begin('b', 900, closing.signal);
  void begin('c', 100);
  closing.abort(new Error('closed'));
  await expect(waits).rejects.toThrow('closed');
  await settled();
  expect(begun).toEqual(['a', 'c']);
  await expect(begin('d', 1, closing.signal)).rejects.toThrow('closed');
});

test('the room of a failed program is free again', async () => {
  const room = new MemoryRoom(() => 1_000);
  await expect(room.run(1_000, never, () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
  await expect(room.run(1_000, never, async () => 'next')).resolves.toBe('next');
});
