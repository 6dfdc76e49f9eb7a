/**
 * The capture endpoint of programs, as a worker runs it, in front of a model server. A process of its own: `node
 * capture-process.js MODEL_SERVER PORT`. A POST to PORT ends the episode before and opens one, because an episode takes
 * a limited number of requests. It answers with its address and key.
 */
import { createServer } from 'node:http';
import { systemClock } from '../../activities/clock';
import type { RunModel } from '../../activities/endpoints/run-model';
import { HttpModelClient, PolicyModel } from '../../activities/rollout';
import { type CaptureAddress, CaptureServer } from '../../activities/rollout/capture/capture-server';
import { EpisodeCapture } from '../../activities/rollout/capture/episode-capture';

const NAME = 'bench-base';
const [stub, port] = process.argv.slice(2);
const model: RunModel = {
  ...{ baseUrl: `${stub}/v1`, addressFrom: 'agent.yaml', name: NAME, path: null, sha256: '0'.repeat(64) },
  served: { weightsSha256: null, root: null, maxModelLength: null },
};
const policy = new PolicyModel({
  ...{ client: new HttpModelClient(), clock: systemClock, model, adapters: [], concurrency: 1 },
  signal: new AbortController().signal,
});
const capture = new CaptureServer();
let before: CaptureAddress | null = null;

async function openEpisode(): Promise<{ url: string; key: string }> {
  before?.end();
  const episode = new EpisodeCapture({
    plan: { seed: 0, split: 'train', trial: 0, model: NAME, samplingSeed: 0 },
    settings: { temperature: 1, maxTurns: 30, maxCompletionTokens: 512, successReward: 1 },
    chat: policy.chat.bind(policy),
    model: NAME,
  });
  before = await capture.open(episode);
  const { url, key } = before;
  return { url, key };
}

const server = createServer((request, response) => {
  if (request.method !== 'POST') return response.end('{}');
  void openEpisode().then((opened) => response.end(JSON.stringify(opened)));
  return undefined;
});
server.listen(Number(port), '127.0.0.1');
