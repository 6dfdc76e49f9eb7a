import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import type { AgentSpec } from '../../contracts/config/agent-spec';
import { isPlayable } from '../../contracts/config/environment-kinds';
import type { VllmSpec } from '../../contracts/config/model-spec';
import type { Agent } from '../agent';
import { CliError } from '../errors';
import { projectRoot } from '../../contracts/project-root';
import { type PortName, PORTS, type Settings } from '../settings';
import { claimPort, freePort, isFree, whoListens } from './ports';
import { pythonCommand, requireTemporalCli, requireVllmPython } from './executables';

/** The origin of the base model: the agent's recipe makes it, or a directory contains it. */
type ModelSource =
  { kind: 'recipe'; script: string; seed: number; arguments: string[] } | { kind: 'directory'; path: string };

/** An analyst that answers without a model: a compiled program, and the recorded answers that it replays. */
interface DemoAnalyst {
  script: string;
  /** Folder `analyst` of a world; null if the program has its own. */
  assets: string | null;
}

/** The vLLM of `model.server: vllm`. */
export interface VllmPlan {
  /** The interpreter with vLLM. */
  python: string;
  /** Largest rank of an adapter. */
  rank: number;
  settings: VllmSpec | null;
}

/** The services that a supervisor starts. `whet up` decides them once, so that a restart starts the same. */
export interface Plan {
  instance: string;
  home: string;
  storeRoot: string;
  logs: string;
  root: string;
  python: string;
  agentPath: string | null;
  temporal: {
    address: string;
    namespace: string;
    start: { cli: string; port: number; uiPort: number; database: string } | null;
  };
  /** Null: the agent names its own endpoint, or there is no agent. */
  model: {
    source: ModelSource;
    servedName: string;
    port: number;
    /** Null: the embedded policy server. */
    vllm: VllmPlan | null;
  } | null;
  /** The routing gateway in front of the agent's model; null without an agent. */
  gateway: { agent: string; baseModel: string; replica: string; port: number } | null;
  /**
   * The demo analyst of the agent's folder; null if a real one is set or the folder has none. `isOnly`: that of another
   * folder was asked for, so that workers use no other one, whatever variables and agent.yaml name.
   */
  analyst: (DemoAnalyst & { port: number; isOnly?: true }) | null;
}

/** What `makePlan` plans for. */
export interface PlanOptions {
  agent: Agent | null;
  /** Seed for the model's recipe; undefined means the agent's own seed. */
  modelSeed?: number | undefined;
  /** An agent.yaml whose demo analyst is asked even if a real one is set. Default: the agent's own, if none is. */
  analystOf?: string | undefined;
  /** true: use another port if one is taken; false: a taken port is an error. */
  anyPort: boolean;
}

/** Decides which services to start. @throws CliError that names all taken ports, or if the Temporal CLI is missing. */
export async function makePlan(
  settings: Settings,
  { agent, modelSeed, anyPort, analystOf }: PlanOptions,
): Promise<Plan> {
  const taken: PortName[] = [];
  const choose = async (name: PortName): Promise<number> => {
    const port = settings.ports[name];
    if ((await isFree(port)) && (await claimPort(port))) return port;
    while (anyPort) {
      const other = await freePort();
      if (await claimPort(other)) return other;
    }
    taken.push(name);
    return port;
  };
  const root = projectRoot();
  const own = settings.temporalAddress === null;
  const temporalPort = own ? await choose('temporal') : 0;
  const source = agent === null ? null : modelSource(agent, modelSeed ?? agent.spec.seed);
  // This comes before a port is claimed, because without vLLM nothing is started.
  const vllm = source === null || agent === null ? null : vllmOf(agent.spec);
  const analyst = playedAnalyst(settings, { agent, analystOf }, root);
  const model =
    source === null || agent === null
      ? null
      : { source, servedName: agent.spec.model.name, port: await choose('model'), vllm };
  const replica = model === null ? agent?.spec.model.baseUrl : `http://127.0.0.1:${model.port}/v1`;
  const plan: Plan = {
    instance: randomUUID(),
    home: settings.home,
    storeRoot: settings.storeRoot,
    logs: join(settings.home, 'logs'),
    root,
    python: pythonCommand(),
    agentPath: agent?.path ?? null,
    temporal: {
      address: settings.temporalAddress ?? `127.0.0.1:${temporalPort}`,
      namespace: settings.temporalNamespace,
      start: own
        ? {
            cli: requireTemporalCli(),
            port: temporalPort,
            uiPort: await choose('ui'),
            database: join(settings.home, 'temporal.sqlite'),
          }
        : null,
    },
    model,
    gateway:
      agent === null || replica === undefined
        ? null
        : { agent: agent.spec.name, baseModel: agent.spec.model.name, replica, port: await choose('gateway') },
    analyst: analyst === null ? null : { ...analyst, port: await choose('analyst') },
  };
  if (taken.length > 0) throw await portsTaken(settings, taken);
  return plan;
}

async function portsTaken({ ports }: Settings, taken: readonly PortName[]): Promise<CliError> {
  const free = new Set<number>();
  while (free.size < taken.length) free.add(await freePort());
  const sentences = taken.map((name) => {
    const who = whoListens(ports[name]);
    return `Port ${ports[name]} (${PORTS[name].variable}) is taken${who === null ? '' : ` by ${who}`}.`;
  });
  const [first, ...others] = taken.map((name) => PORTS[name].variable);
  const remedy =
    others.length === 0
      ? `Stop that, or set ${first} to a free port`
      : 'Stop what listens there, or take ports that are free now';
  const assignments = taken.map((name, i) => `${PORTS[name].variable}=${[...free][i]}`);
  return new CliError(`${sentences.join('\n')}\n${remedy}: export ${assignments.join(' ')}`, { type: 'Up.PortTaken' });
}

function modelSource({ path, spec }: Agent, seed: number): ModelSource | null {
  if (!isPlayable(spec.environment)) return null;
  const { baseUrl, recipe, recipeArguments, path: directory } = spec.model;
  if (baseUrl !== undefined) return null;
  const folder = dirname(path);
  if (recipe !== undefined)
    return { kind: 'recipe', script: resolve(folder, recipe), seed, arguments: recipeArguments };
  if (directory !== undefined) return { kind: 'directory', path: resolve(folder, directory) };
  throw new CliError(
    `${path}: model has none of baseUrl, recipe and path, so there is no model to serve. Set one of them.`,
    {
      exitCode: 2,
      type: 'Spec.Invalid',
    },
  );
}

function vllmOf({ model, training }: AgentSpec): VllmPlan | null {
  if (model.server !== 'vllm') return null;
  return { python: requireVllmPython(), rank: training.rank, settings: model.vllm ?? null };
}

/**
 * The demo analyst in the folder of an agent.yaml: the compiled `analyst/main` of this project, or the recorded answers
 * of a world, which may be in any folder. Null if there is none.
 */
export function demoAnalyst(agentPath: string, root: string): DemoAnalyst | null {
  const folder = relative(root, dirname(agentPath));
  const script = join(root, 'dist', folder, 'analyst', 'main.js');
  if (!folder.startsWith('..') && existsSync(script)) return { script, assets: null };
  const assets = join(dirname(agentPath), 'analyst');
  const isWorld = ['capabilities.json', 'labels.py'].every((file) => existsSync(join(assets, file)));
  return isWorld ? { script: join(root, 'dist', 'examples', 'shared', 'analyst', 'main.js'), assets } : null;
}

/** The analyst that a start plays; null if it plays none. */
export function playedAnalyst(
  { analystConfigured }: Pick<Settings, 'analystConfigured'>,
  { agent, analystOf }: Pick<PlanOptions, 'agent' | 'analystOf'>,
  root: string,
): Omit<NonNullable<Plan['analyst']>, 'port'> | null {
  if (analystOf !== undefined) {
    const asked = demoAnalyst(analystOf, root);
    return asked && { ...asked, isOnly: true };
  }
  if (analystConfigured || agent === null || agent.spec.analyst.baseUrl !== undefined) return null;
  return demoAnalyst(agent.path, root);
}

/** A sentence if runs would find no analyst after this start; null if they will find one. */
export function missingAnalyst(
  { analystConfigured }: Pick<Settings, 'analystConfigured'>,
  agent: PlanOptions['agent'],
  plan: Pick<Plan, 'analyst'>,
): string | null {
  if (agent === null || analystConfigured || agent.spec.analyst.baseUrl !== undefined || plan.analyst !== null)
    return null;
  return (
    `There is no analyst: ${agent.path} has no analyst.baseUrl, OPENAI_API_KEY and OPENAI_BASE_URL are not set, and ` +
    `${join(dirname(agent.path), 'analyst')} has none that can be played (examples/worlds/README.md).`
  );
}
