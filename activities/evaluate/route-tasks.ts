import { createHash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { Context } from '@temporalio/activity';
import { type RoutingRecord, routingRecordSchema } from '../../contracts/artifacts/evaluation';
import type { RoutingInput, RoutingResult } from '../../contracts/messages/evaluate-stage';
import { routerMenu, routerPrompt } from '../../contracts/routing/router-prompt';
import { ROUTER_TOP_LOGPROBS, routingDecision } from '../../contracts/routing/routing-decision';
import { SandboxError } from '../../sandbox';
import { layout, putLines, readSegment } from '../../store';
import { ownerFailure, readOwnerEnvironment } from '../environment';
import { inParallel } from '../in-parallel';
import { readPreparedSpec } from '../prepared-spec';
import { startProgress } from '../progress';
import { warnOfDamage } from '../warn-of-damage';
import { runModel } from '../endpoints/run-model';
import { PolicyModel } from '../rollout';
import type { RolloutDeps } from '../rollout/rollout-deps';

/**
 * Makes the activity `routeTasks`: asks the base model, once for each held-out task, which capability the task needs.
 * Each decision is stored as it comes, so a retry asks only for the rest.
 */
export function createRouteTasks(deps: RolloutDeps): (input: RoutingInput) => Promise<RoutingResult> {
  return async ({ context: { runId, spec: specRef }, capabilities }) => {
    const { store, clock } = deps;
    const prepared = await readPreparedSpec(store, specRef);
    const { environment, model, evaluation } = prepared.spec;
    const context = Context.current();
    const menu = routerMenu(capabilities);
    const menuHash = createHash('sha256').update(JSON.stringify(menu)).digest('hex').slice(0, 12);
    const segment = store.segment(layout.work(runId, `routing-${menuHash}`));
    const { values: records, damaged } = await readSegment(segment, routingRecordSchema);
    warnOfDamage(damaged);
    const decided = new Map(records.map((record) => [record.seed, record]));
    const seeds = Array.from(
      { length: environment.heldOutSeeds.count },
      (_, index) => environment.heldOutSeeds.start + index,
    );
    const progress = startProgress({
      stage: 'evaluate',
      unit: 'routings',
      total: seeds.length,
      done: decided.size,
      everyMs: 500,
      heartbeat: (details) => context.heartbeat(details),
    });
    const stop = new AbortController();
    const signal = AbortSignal.any([context.cancellationSignal, stop.signal]);
    // Every call in flight listens to the signal. Node would take more than ten listeners for a leak.
    setMaxListeners(0, signal);
    const policy = new PolicyModel({
      client: deps.model,
      clock,
      model: runModel(prepared, deps.endpoints),
      adapters: [],
      signal,
      onTrouble: (note) => progress.setNote(note),
    });
    const ownEnvironment = await openOwnerEnvironment(deps, await readOwnerEnvironment(prepared));
    try {
      const undecided = seeds.filter((seed) => !decided.has(seed));
      await inParallel(undecided, evaluation.concurrency, { signal, stop }, async (seed) => {
        const task = await firstUserMessage(ownEnvironment, seed);
        const answer = await policy.chat({
          model: model.name,
          messages: [{ role: 'user', content: routerPrompt(task, menu) }],
          temperature: 0,
          seed: 0,
          maxTokens: 1,
          topLogprobs: ROUTER_TOP_LOGPROBS,
          choice: menu.map(({ label }) => label),
        });
        const record = routingDecision(seed, menu, answer);
        await policy.confirm();
        await segment.append(record);
        decided.set(seed, record);
        progress.advance();
      });
    } catch (error) {
      if (error instanceof SandboxError) throw ownerFailure(error);
      throw error;
    } finally {
      progress.stop();
      await Promise.all([ownEnvironment.close(), segment.close()]);
    }
    const decisions = seeds.map((seed): RoutingRecord => decided.get(seed)!);
    return {
      routing: await putLines(store, layout.evaluation(runId), 'routing.jsonl', decisions),
      tasks: decisions.length,
    };
  };
}

async function openOwnerEnvironment(
  { openEnvironment }: RolloutDeps,
  environment: Parameters<RolloutDeps['openEnvironment']>[0],
): ReturnType<RolloutDeps['openEnvironment']> {
  try {
    return await openEnvironment(environment);
  } catch (error) {
    throw error instanceof SandboxError ? ownerFailure(error) : error;
  }
}

async function firstUserMessage(
  environment: Awaited<ReturnType<RolloutDeps['openEnvironment']>>,
  seed: number,
): Promise<string> {
  const episode = `route-${seed}`;
  const { messages } = await environment.reset(episode, seed);
  await environment.drop(episode);
  return (messages.find(({ role }) => role === 'user') ?? messages.at(-1))!.content;
}
