import { createHash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { Context } from '@temporalio/activity';
import { type RoutingRecord, routingRecordSchema } from '../../contracts/artifacts/evaluation';
import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import { routerMenu, routerPrompt } from '../../routing/router-prompt';
import { ROUTER_TOP_LOGPROBS, type RouterAnswer, routingDecision } from '../../routing/menu-answer';
import { layout, readSegment } from '../../store';
import { runModel } from '../endpoints/run-model';
import { systemClock } from '../clock';
import { inParallel } from '../in-parallel';
import { Progress } from '../progress';
import { modelFailure, ModelFault, PolicyModel } from '../rollout';
import { answerOrFault } from '../rollout/episode';
import type { RolloutDeps } from '../rollout/rollout-deps';
import { warnOfDamage } from '../warn-of-damage';

const NO_ANSWER: RouterAnswer = { content: null, firstToken: [] };

/** The question to the base model. */
export interface MenuQuestions {
  runId: string;
  prepared: PreparedSpec;
  capabilities: readonly { id: string; summary: string }[];
  /** Tasks with the text of their openings. */
  openings: ReadonlyMap<number, string>;
}

/**
 * Asks the base model once about each task which capability of the menu it needs. Each answer is stored at once, so
 * that a retry asks only for the rest. Must run inside an activity.
 */
export async function askMenu(
  { store, model: client, endpoints }: RolloutDeps,
  { runId, prepared, capabilities, openings }: MenuQuestions,
): Promise<Map<number, RoutingRecord>> {
  const { model, evaluation } = prepared.spec;
  const context = Context.current();
  const menu = routerMenu(capabilities);
  const menuHash = createHash('sha256').update(JSON.stringify(menu)).digest('hex').slice(0, 12);
  const segment = store.segment(layout.work(runId, `routing-${menuHash}`));
  const { values: records, damaged } = await readSegment(segment, routingRecordSchema);
  warnOfDamage(damaged);
  const answered = new Map(records.map((record) => [record.seed, record]));
  const unanswered = [...openings.keys()].filter((seed) => !answered.has(seed));
  using progress = new Progress({
    stage: 'evaluate',
    unit: 'routings',
    total: openings.size,
    done: openings.size - unanswered.length,
    everyMs: 500,
  });
  const stop = new AbortController();
  const signal = AbortSignal.any([context.cancellationSignal, stop.signal]);
  // Every call in flight listens to the signal. Node would report more than ten listeners as a leak.
  setMaxListeners(0, signal);
  const policy = new PolicyModel({
    client,
    clock: systemClock,
    model: runModel(prepared, endpoints),
    concurrency: evaluation.concurrency,
    adapters: [],
    signal,
    onTrouble: (note) => progress.setNote(note),
  });
  const refused: number[] = [];
  let refusal: ModelFault | null = null;
  const keep = async (seed: number, answer: RouterAnswer): Promise<void> => {
    const record = routingDecision(seed, menu, answer);
    await policy.confirm();
    await segment.append(record);
    answered.set(seed, record);
    progress.advance();
  };
  try {
    await inParallel(unanswered, evaluation.concurrency, { signal, stop }, async (seed) => {
      const answer = await answerOrFault(() =>
        policy.chat({
          model: model.name,
          messages: [{ role: 'user', content: routerPrompt(openings.get(seed)!, menu) }],
          temperature: 0,
          seed: 0,
          maxTokens: 1,
          topLogprobs: ROUTER_TOP_LOGPROBS,
          choice: menu.map(({ label }) => label),
        }),
      );
      // A task that is longer than the model's context goes to base, as in the gateway when its router fails.
      if (!(answer instanceof ModelFault)) return keep(seed, answer);
      if (answer.kind === 'too-long') return keep(seed, NO_ANSWER);
      refusal = answer;
      refused.push(seed);
    });
    // So does a task that the server refuses. If these are the majority, the server refuses the question itself.
    if (refusal !== null && refused.length > unanswered.length / 2) throw modelFailure(refusal);
    for (const seed of refused) await keep(seed, NO_ANSWER);
  } finally {
    await segment.close();
  }
  return answered;
}
