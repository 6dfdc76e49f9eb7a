// tier: integration
import { readFileSync, writeFileSync } from 'node:fs';
import { fitVocabulary, openingVectors } from '../../../../routing/opening-features';
import { layout, putJson } from '../../../../store';
import { adapterName, GatewayFixture, versionOf } from '../../gateway-fixture';
import type { Router } from '../../../../routing/kinds';

const vocabulary = fitVocabulary(['stamp it', 'stamp this', 'hello you', 'hello there']);
const stamp = openingVectors(vocabulary)('stamp').positions;

/** Gives an opening with the word `stamp` to the capability, and any other to base. */
const byWord = (capabilityId: string, leftOut: string[] = []): Router => ({
  kind: 'labels',
  leftOut,
  vocabulary,
  needs: [{ capabilityId, model: { bias: -2, weights: { positions: stamp, values: [9] } } }],
});

describe('the router promoted', () => {
  const fixture = new GatewayFixture();
  afterAll(() => fixture.stop());

  it('serves each version with the router that it was judged with, and asks no model server where that asks none', async () => {
    const judged = async (version: number, router: Router) => ({
      ...versionOf(version, 'stamp', 'weigh'),
      judgedRouter: {
        kind: router.kind,
        artifact: await putJson(fixture.store, layout.evaluation(`run-${version}`), 'router.json', router),
      },
    });
    const [one, two] = [await judged(1, byWord('stamp')), await judged(2, byWord('weigh'))];
    await fixture.start({ registry: { versions: [one, two], active: 1 } });
    const route = async (text: string) => {
      const { headers } = await fixture.chat(text);
      return [headers.get('x-whet-adapter'), headers.get('x-whet-route')];
    };
    expect(await route('please stamp it')).toEqual([adapterName('stamp', 1), 'routed']);
    expect(await route('hello')).toEqual(['base', 'routed']);
    await fixture.setRegistry({ agent: 'desk', active: 2, versions: [one, two] });
    await fixture.until(() => fixture.agent.replicas.all[0]!.routable.has(adapterName('weigh', 2)));
    expect(await route('please stamp this')).toEqual([adapterName('weigh', 2), 'routed']);
    expect(fixture.replicas[0]!.requests.some(({ body }) => body.structured_outputs !== undefined)).toBe(false);
  });

  it('moves a conversation at a later turn where its version says so, and keeps it there', async () => {
    const moving = new GatewayFixture();
    const [opening, later] = [byWord('weigh'), byWord('stamp')];
    if (opening.kind !== 'labels' || later.kind !== 'labels') throw new Error('Both are routers by labels.');
    const router: Router = {
      ...opening,
      laterTurns: { reads: 'user', vocabulary, needs: later.needs, threshold: 0.7 },
    };
    const artifact = await putJson(moving.store, layout.evaluation('run-1'), 'router.json', router);
    const version = { ...versionOf(1, 'stamp', 'weigh'), judgedRouter: { kind: router.kind, artifact } };
    await moving.start({ registry: { versions: [version] } });
    const route = async (...turns: string[]) => {
      const messages = turns.map((content, i) => ({ role: i % 2 ? 'assistant' : 'user', content }));
      const { headers } = await moving.post('/v1/chat/completions', { model: 'desk', messages });
      return [headers.get('x-whet-adapter'), headers.get('x-whet-route')];
    };
    const [weigh, stamp] = [adapterName('weigh', 1), adapterName('stamp', 1)];
    expect(await route('hello')).toEqual(['base', 'routed']);
    expect(await route('hello', 'yes?', 'hello')).toEqual(['base', 'routed; sticky']);
    expect(await route('hello', 'yes?', 'stamp it')).toEqual([stamp, 'later-turn']);
    expect(await route('hello', 'yes?', 'stamp it', 'done', 'hello')).toEqual([stamp, 'later-turn']);
    // What the agent says moves nothing, and an earlier state of the conversation goes where it went.
    expect(await route('hello', 'stamp it', 'hello')).toEqual(['base', 'routed; sticky']);
    expect(await route('stamp it')).toEqual([weigh, 'routed']);
    // Content in parts, and messages that are none, are read or passed over.
    const odd = { role: 'user', content: [{ type: 'text', text: 'stamp it' }] };
    const messages = [{ role: 'user', content: 'hello' }, { role: 'assistant', content: null }, odd, null];
    const { headers } = await moving.post('/v1/chat/completions', { model: 'desk', messages });
    expect(headers.get('x-whet-adapter')).toBe(stamp);
    await moving.stop();
  });

  it('gives an opening with several needs to the mixed adapter, and leaves its conversation there', async () => {
    const fixture = new GatewayFixture();
    const vocabulary = fitVocabulary(['stamp it weigh', 'weigh it stamp', 'stamp weigh']);
    const needs = ['stamp', 'weigh'].map((capabilityId) => ({
      capabilityId,
      model: { bias: -2, weights: { positions: openingVectors(vocabulary)(capabilityId).positions, values: [12] } },
    }));
    const router: Router = {
      ...{ kind: 'labels', leftOut: [], vocabulary, needs },
      severalNeeds: { vocabulary, needs, threshold: 0.5 },
      laterTurns: { reads: 'user', vocabulary, needs, threshold: 0.7 },
    };
    const artifact = await putJson(fixture.store, layout.evaluation('run-1'), 'router.json', router);
    const version = { ...versionOf(1, 'stamp', 'weigh', 'mixed'), judgedRouter: { kind: router.kind, artifact } };
    await fixture.start({ registry: { versions: [version] } });
    const route = async (...turns: string[]) => {
      const messages = turns.map((content, i) => ({ role: i % 2 ? 'assistant' : 'user', content }));
      const { headers } = await fixture.post('/v1/chat/completions', { model: 'desk', messages });
      return [headers.get('x-whet-adapter'), headers.get('x-whet-route')];
    };
    expect(await route('stamp it and weigh it')).toEqual([adapterName('mixed', 1), 'several-needs']);
    expect(await route('stamp it and weigh it', 'stamped', 'now weigh')).toEqual([
      adapterName('mixed', 1),
      'several-needs; sticky',
    ]);
    expect(await route('stamp it', 'stamped', 'now weigh')).toEqual([adapterName('weigh', 1), 'later-turn']);
    await fixture.stop();
  });

  it('gives the mixed adapter what a router with it among its arms gives it, and leaves its conversation there', async () => {
    const fixture = new GatewayFixture();
    const vocabulary = fitVocabulary(['stamp it weigh', 'weigh it stamp', 'stamp weigh']);
    const likely = (capabilityId: string, word: string) => ({
      capabilityId,
      model: { bias: -2, weights: { positions: openingVectors(vocabulary)(word).positions, values: [12] } },
      variances: [...vocabulary.terms.map(() => 0), 0],
    });
    const { model } = likely('weigh', 'weigh');
    const router: Router = {
      ...{ kind: 'outcomes-mixed', leftOut: [], vocabulary, doubt: 0.3, margin: 0.05 },
      base: { bias: -1, weights: { positions: [], values: [] } },
      arms: [likely('stamp', 'stamp'), likely('mixed', 'weigh')],
      laterTurns: { reads: 'user', vocabulary, needs: [{ capabilityId: 'stamp', model }], threshold: 0.7 },
    };
    const artifact = await putJson(fixture.store, layout.evaluation('run-1'), 'router.json', router);
    const version = { ...versionOf(1, 'stamp', 'mixed'), judgedRouter: { kind: router.kind, artifact } };
    await fixture.start({ registry: { versions: [version] } });
    const route = async (...turns: string[]) => {
      const messages = turns.map((content, i) => ({ role: i % 2 ? 'assistant' : 'user', content }));
      const { headers } = await fixture.post('/v1/chat/completions', { model: 'desk', messages });
      return [headers.get('x-whet-adapter'), headers.get('x-whet-route')];
    };
    const [mixed, stamp] = [adapterName('mixed', 1), adapterName('stamp', 1)];
    expect(await route('weigh it')).toEqual([mixed, 'routed']);
    expect(await route('weigh it', 'weighed', 'weigh it')).toEqual([mixed, 'routed; sticky']);
    expect(await route('stamp it')).toEqual([stamp, 'routed']);
    expect(await route('hello')).toEqual(['base', 'routed']);
    expect(await route('hello', 'yes?', 'weigh it')).toEqual([stamp, 'later-turn']);
    await fixture.stop();
  });

  it('begins with what is asked for first where the opening asks for two things, and moves on with the second', async () => {
    const fixture = new GatewayFixture();
    const words = fitVocabulary(['stamp it weigh', 'weigh it stamp', 'stamp weigh']);
    const needOf = (capabilityId: string, weight: number) => ({
      capabilityId,
      model: { bias: -2, weights: { positions: openingVectors(words)(capabilityId).positions, values: [weight] } },
    });
    // Weighing is the likelier of two.
    const needs = [needOf('stamp', 12), needOf('weigh', 14)];
    const laterTurns = { reads: 'user' as const, vocabulary: words, needs, threshold: 0.7 };
    const versions = await Promise.all(
      [laterTurns, { ...laterTurns, twoNeeds: { threshold: 0.5 } }].map(async (later, place) => {
        const router: Router = { kind: 'labels', leftOut: [], vocabulary: words, needs, laterTurns: later };
        const artifact = await putJson(fixture.store, layout.evaluation(`run-${place}`), 'router.json', router);
        return { ...versionOf(place + 1, 'stamp', 'weigh'), judgedRouter: { kind: router.kind, artifact } };
      }),
    );
    await fixture.start({ registry: { versions, active: 2 } });
    const route = async (...turns: string[]) => {
      const messages = turns.map((content, i) => ({ role: i % 2 ? 'assistant' : 'user', content }));
      const { headers } = await fixture.post('/v1/chat/completions', { model: 'desk', messages });
      return [headers.get('x-whet-adapter'), headers.get('x-whet-route')];
    };
    expect(await route('stamp it and weigh it')).toEqual([adapterName('stamp', 2), 'first-of-two']);
    expect(await route('stamp it and weigh it', 'stamped', 'now weigh')).toEqual([
      adapterName('weigh', 2),
      'later-turn',
    ]);
    expect(await route('weigh it and stamp it')).toEqual([adapterName('weigh', 2), 'first-of-two']);
    expect(await route('stamp it')).toEqual([adapterName('stamp', 2), 'routed']);
    // A version whose router does not say so goes by the likelier need.
    await fixture.setRegistry({ agent: 'desk', active: 1, versions });
    await fixture.until(() => fixture.agent.registry.active === 1);
    expect(await route('stamp it and weigh it')).toEqual([adapterName('weigh', 1), 'routed']);
    await fixture.stop();
  });

  it('gives conversations to base while the router is damaged, says so once, and goes on when it is repaired', async () => {
    const damaged = new GatewayFixture();
    const router = byWord('stamp');
    const artifact = await putJson(damaged.store, layout.evaluation('run-1'), 'router.json', router);
    const path = damaged.store.localPath(artifact.key);
    const whole = readFileSync(path);
    writeFileSync(path, whole.subarray(0, 40));
    const version = { ...versionOf(1, 'stamp'), judgedRouter: { kind: router.kind, artifact } };
    await damaged.start({ registry: { versions: [version] } });
    const first = await damaged.chat('stamp it 1');
    expect([first.headers.get('x-whet-adapter'), first.headers.get('x-whet-route')]).toEqual(['base', 'router-failed']);
    await damaged.chat('stamp it 2');
    expect(damaged.errors.filter((message) => message.startsWith('the router of a version'))).toHaveLength(1);
    writeFileSync(path, whole);
    expect((await damaged.chat('stamp it 3')).headers.get('x-whet-adapter')).toBe(adapterName('stamp', 1));
    await damaged.stop();
  });
});
