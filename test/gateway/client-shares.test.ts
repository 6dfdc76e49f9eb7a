// tier: unit
import { ClientShares } from '../../gateway/client-shares';
import { cacheKey } from '../../gateway/conversations';

const key = (client: string, name: string | number) => cacheKey(client, 'desk', String(name));

function sharing(limit: number) {
  const dropped: string[] = [];
  const shares = new ClientShares<string>(limit, (client, value) => dropped.push(`${client}:${value}`));
  const add = (client: string, value: string, size?: number) => shares.set(key(client, value), value, size);
  return { shares, dropped, add };
}

describe('ClientShares', () => {
  it('drops the oldest of the client that holds most', () => {
    const { shares, dropped, add } = sharing(6);
    ['b1', 'b2'].forEach((name) => add('b', name));
    ['a1', 'a2', 'a3', 'a4', 'a5', 'a6'].forEach((name) => add('a', name));
    expect(dropped).toEqual(['a:a1', 'a:a2']);
    expect(shares.count).toBe(6);
    add('c', 'c1');
    expect(dropped.at(-1)).toBe('a:a3');
    expect(shares.has(key('b', 'b1'))).toBe(true);
  });

  it('counts sizes: one large value goes before many small ones of others', () => {
    const { shares, dropped, add } = sharing(100);
    for (let i = 0; i < 50; i++) add('b', `b${i}`, 1);
    for (let i = 0; i < 8; i++) add('a', `a${i}`, 9);
    expect(dropped).toEqual(['a:a0', 'a:a1', 'a:a2']);
    expect(shares.count).toBe(55);
  });

  it('drops a value that is larger than all the room, and nothing else', () => {
    const { shares, dropped, add } = sharing(10);
    add('b', 'b1', 4);
    add('a', 'a1', 11);
    expect(dropped).toEqual(['a:a1']);
    expect(shares.count).toBe(1);
  });

  it('keeps what was used last, and the newest value of a key', () => {
    const { shares, dropped, add } = sharing(2);
    add('a', 'a1');
    add('a', 'a2');
    expect(shares.get(key('a', 'a1'))).toBe('a1');
    add('a', 'a3');
    expect(dropped).toEqual(['a:a2']);
    shares.set(key('a', 'a3'), 'again', 1);
    expect([shares.get(key('a', 'a3')), shares.count]).toEqual(['again', 2]);
    expect(shares.get(key('a', 'none'))).toBeUndefined();
    expect(shares.get(key('none', 'a1'))).toBeUndefined();
  });

  it('gives values back, and their room', () => {
    const { shares, dropped, add } = sharing(3);
    add('a', 'a1', 3);
    expect([shares.take(key('a', 'a1')), shares.take(key('a', 'a1'))]).toEqual(['a1', undefined]);
    add('b', 'b1', 2);
    add('a', 'a2', 1);
    expect(shares.takeAll().sort()).toEqual(['a2', 'b1']);
    add('a', 'a3', 3);
    expect([shares.count, dropped]).toEqual([1, []]);
  });
});
