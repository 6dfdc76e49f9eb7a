import { createHash } from 'node:crypto';
import { access, readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Context } from '@temporalio/activity';
import { type PreparedSpec, preparedSpecSchema } from '../../contracts/artifacts/prepared-spec';
import type { AgentSpec } from '../../contracts/config/agent-spec';
import type { OrchestrationActivities } from '../../contracts/messages/activities';
import type { ImprovementRunInput, RunPlan } from '../../contracts/messages/run';
import { AgentSpecError, loadAgentSpec } from '../../loaders/agent-spec';
import { failure } from '../../contracts/typed-failure';
import { isUnsafeAllowed, type JailProbe, SandboxError, SandboxUnavailable } from '../../sandbox';
import { layout, putJson } from '../../store';
import type { RolloutDeps } from '../rollout/rollout-deps';
import { modelDirectorySha256 } from '../../store/model-hash';
import { ownerFailure } from '../environment';
import { modelFailure, ModelFault } from '../rollout';
import { type KnownEndpoints, resolveEndpoints } from '../endpoints/resolve-endpoints';
import { probeAnalyst } from '../endpoints/probe-analyst';

/** Dependencies of `prepareRun`. */
export interface PrepareDeps extends RolloutDeps {
  endpoints: KnownEndpoints;
  /** Tries every layer of the jail; normally `probeJail` of `sandbox/`. */
  probeJail: () => Promise<JailProbe>;
}

/** The activity that checks everything a run needs and freezes its spec. */
export function createPrepareActivities(deps: PrepareDeps): Pick<OrchestrationActivities, 'prepareRun'> {
  return {
    /**
     * Reads and checks agent.yaml, tries every part that the run will need, and writes the result to the store. What is
     * wrong therefore fails now and not an hour later, and edits of the file do not affect a run that has begun.
     * @throws Spec.Invalid, Environment.Failed, Sandbox.Unavailable, Model.* and Analyst.*.
     */
    async prepareRun({ runId, agent, specPath, ...changes }: ImprovementRunInput): Promise<RunPlan> {
      const signal = Context.current().cancellationSignal;
      const spec = readSpec(specPath, changes);
      if (spec.name !== agent)
        throw failure(
          'Spec.Invalid',
          `${specPath}: name is ${JSON.stringify(spec.name)}, but the run was started for ` +
            `${JSON.stringify(agent)}. Start it again.`,
        );
      const folder = dirname(resolve(specPath));
      const endpoints = resolveEndpoints(spec, deps.endpoints, folder);
      const environmentPath = resolve(folder, spec.environment.path);
      const [environmentSha256, baseModelSha256, analyst, sandbox] = await Promise.all([
        tryEnvironment(deps, environmentPath, spec),
        hashModel(endpoints.modelPath),
        probeAnalyst(endpoints, deps.endpoints.analyst.apiKey, signal),
        trySandbox(deps),
        tryModel(deps, endpoints.modelBaseUrl, spec.model.name, signal),
      ]);
      const { modelBaseUrl, modelPath } = endpoints;
      const prepared: PreparedSpec = preparedSpecSchema.parse({
        spec,
        environmentPath,
        environmentSha256,
        modelBaseUrl,
        modelPath,
        baseModelSha256,
        analyst,
        sandbox,
      });
      return {
        context: {
          runId,
          agent,
          spec: await putJson(deps.store, layout.run(runId), 'spec.json', prepared),
          seed: spec.seed,
        },
        maxAttempts: spec.synthesis.maxAttempts,
        mixedAdapter: spec.evaluation.mixedAdapter,
        approval: spec.gate.approval,
        onRejected: spec.synthesis.onRejected,
      };
    },
  };
}

/** Reads the spec and replaces the fields that the start of the run overrides. */
function readSpec(
  path: string,
  { seed, arm, ablations }: Pick<ImprovementRunInput, 'seed' | 'arm' | 'ablations'>,
): AgentSpec {
  try {
    const spec = loadAgentSpec(path);
    const identify = {
      ...spec.identify,
      ...(arm !== undefined && { arm }),
      ...(ablations !== undefined && { ablations }),
    };
    return { ...spec, identify, ...(seed !== undefined && { seed }) };
  } catch (error) {
    if (error instanceof AgentSpecError) throw failure('Spec.Invalid', error.message, { cause: error });
    throw error;
  }
}

/** Opens the agent's environment with one task of each range. Returns the sha256 of its source. */
async function tryEnvironment(
  { openEnvironment }: PrepareDeps,
  path: string,
  { environment: { trainSeeds, heldOutSeeds } }: AgentSpec,
): Promise<string> {
  const source = await readFile(path, 'utf8');
  try {
    const environment = await openEnvironment({ source, trust: 'owner', name: path });
    try {
      await environment.describe();
      await environment.reset('train', trainSeeds.start);
      await environment.reset('held-out', heldOutSeeds.start);
    } finally {
      await environment.close();
    }
  } catch (error) {
    throw error instanceof SandboxError ? ownerFailure(error) : error;
  }
  return createHash('sha256').update(source).digest('hex');
}

async function hashModel(directory: string): Promise<string> {
  try {
    await access(join(directory, 'config.json'));
  } catch (error) {
    throw failure(
      'Spec.Invalid',
      `The base model ${directory} (model.path) is not a model directory: it has no config.json. Save the model ` +
        'there with save_pretrained.',
      { cause: error as Error },
    );
  }
  return modelDirectorySha256(directory);
}

async function tryModel({ model }: PrepareDeps, baseUrl: string, name: string, signal: AbortSignal): Promise<void> {
  try {
    const served = await model.models(baseUrl, signal);
    if (!served.includes(name))
      throw new ModelFault(
        'refused',
        `The model server at ${baseUrl} does not serve ${name} (model.name); it serves ` +
          `${served.join(', ') || 'nothing'}.`,
      );
  } catch (error) {
    throw error instanceof ModelFault ? modelFailure(error) : error;
  }
}

async function trySandbox({ probeJail }: PrepareDeps): Promise<PreparedSpec['sandbox']> {
  try {
    if (isUnsafeAllowed())
      return { mode: 'unsafe', detail: 'WHET_SANDBOX=unsafe: generated code runs without the jail.' };
    const probe = await probeJail();
    if (!probe.ok) throw new SandboxUnavailable(probe.missing);
    return { mode: 'jail', detail: `${probe.layers.length} layers hold; control groups: ${probe.cgroup}.` };
  } catch (error) {
    throw error instanceof SandboxUnavailable ? failure('Sandbox.Unavailable', error.message, { cause: error }) : error;
  }
}
