import { Context } from '@temporalio/activity';
import type { RolloutSummary, RunContext, SandboxActivities } from '../../contracts';
import { layout } from '../../store';
import type { RolloutDeps } from '../deps';
import { failure } from '../../llm';
import { readOwnerEnvironment, readPreparedSpec } from '../prepared';
import { rollOut, samplingSeed, summarise } from '../rollout';

/** Activities of the stage `collect`. */
export function createCollectActivities(deps: RolloutDeps): Pick<SandboxActivities, 'collectTrajectories'> {
  return {
    /** Rolls the base agent out over the train tasks. Resumes where an earlier attempt stopped. */
    async collectTrajectories({ runId, spec: specRef, seed }: RunContext): Promise<RolloutSummary> {
      const prepared = await readPreparedSpec(deps.store, specRef);
      const { environment, model, collect, identify } = prepared.spec;
      const { start, count } = environment.trainSeeds;
      const plans = Array.from({ length: count * collect.trials }, (_, index) => {
        const taskSeed = start + Math.floor(index / collect.trials);
        const trial = index % collect.trials;
        return { seed: taskSeed, split: 'train' as const, trial, model: model.name, samplingSeed: samplingSeed(seed, taskSeed, trial) };
      });
      const rolledOut = await rollOut(deps, {
        plans,
        environment: await readOwnerEnvironment(prepared),
        settings: {
          temperature: model.temperature,
          maxTurns: environment.maxTurns,
          maxCompletionTokens: model.maxCompletionTokens,
          successReward: environment.successReward,
        },
        modelBaseUrl: prepared.modelBaseUrl,
        adapters: [],
        concurrency: collect.concurrency,
        workKey: layout.work(runId, 'collect'),
        stage: 'collect',
        signal: Context.current().cancellationSignal,
      });
      const summary = await summarise(deps.store, layout.trajectories(runId), 'collected.jsonl', rolledOut);
      if (Math.min(summary.successes, summary.failures) < identify.minEachOutcome) throw tooFew(summary, identify.minEachOutcome, count, collect.trials);
      return summary;
    },
  };
}

function tooFew({ episodes, successes, failures }: RolloutSummary, least: number, tasks: number, trials: number): Error {
  const found = `${episodes} rollouts (${tasks} tasks x ${trials} trials) gave ${successes} successes and ${failures} failures; contrasting them needs at least ${least} of each.`;
  const rare = Math.min(successes, failures);
  const what = successes < failures ? 'successes' : 'failures';
  const remedy =
    rare === 0
      ? `There are no ${what} at all: check that the environment's reward can come out both ways and that environment.successReward is right.`
      : `Raise environment.trainSeeds.count to about ${Math.ceil((tasks * least * 1.2) / rare)} or collect.trials to about ${Math.ceil((trials * least * 1.2) / rare)}.`;
  return failure('Collect.TooFewToContrast', `${found} ${remedy}`);
}
