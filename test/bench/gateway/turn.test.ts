// tier: integration (a server of this process)
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { takeTurn } from '../../../bench/gateway/turn';

describe('a turn of a target', () => {
  let server: Server;
  let origin: string;
  /** Of each request: its key, and the client's port. */
  let got: { key: string | undefined; port: number | undefined }[];

  beforeEach(async () => {
    got = [];
    server = createServer((request, response) => {
      got.push({ key: request.headers.authorization, port: request.socket.remotePort });
      request.resume().on('end', () => response.end('{}'));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(() => new Promise((resolve) => server.close(resolve)));

  const request = { path: '/', headers: { authorization: 'Bearer own' }, body: Buffer.from('{}') };
  const connections = () => new Set(got.map(({ port }) => port)).size;

  test('the request that opens the connection is sent and not timed', async () => {
    const timings = await takeTurn({ origin }, request, false, 5);
    expect(timings).toHaveLength(4);
    expect(timings.every(({ ok }) => ok)).toBe(true);
    expect(got.map(({ key }) => key)).toEqual(Array(5).fill('Bearer own'));
    expect(connections()).toBe(1);
  });

  test('a target with episodes gets no more requests in one than it takes', async () => {
    let opened = 0;
    const episodes = { requests: 3, open: async () => ({ authorization: `Bearer ${++opened}` }) };
    const timings = await takeTurn({ origin, episodes }, request, false, 7);
    expect(got.map(({ key }) => key)).toEqual([1, 1, 1, 2, 2, 2, 3].map((one) => `Bearer ${one}`));
    expect(connections()).toBe(3);
    // All but the first of each of three connections.
    expect(timings).toHaveLength(4);
  });
});
