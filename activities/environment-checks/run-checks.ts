import type { CheckGroup, EnvironmentCheck, Validation } from '../../contracts/artifacts/environment-check';
import type { AgentSpec } from '../../contracts/config/agent-spec';
import type { EnvironmentTool } from '../../contracts/messages/environment-protocol';
import { DeduplicatedFaults } from '../../contracts/deduplicate-faults';
import { failure } from '../../contracts/typed-failure';
import { startOf } from '../../contracts/clean-text';
import { type ModuleSource, SandboxError, SandboxUnavailable } from '../../sandbox';
import { ALLOWED_MODULES } from '../allowed-modules';
import type { EnvironmentHandle, OpenEnvironment } from '../environment';
import { againIfKilled, isOutsideFault } from '../killed-environment';
import { RestartingEnvironment } from '../rollout/restarting-environment';
import { type CheckInput, type CheckResult, resultOf } from './check';
import { checkAnswers } from './checks/answers';
import { checkDependence } from './checks/dependence';
import { checkDerivable } from './checks/derivable';
import { checkDeterminism, type Processes } from './checks/deterministic';
import { checkDiversity } from './checks/diverse';
import { checkHeldOutText } from './checks/held-out-text';
import { checkIsolation } from './checks/isolated';
import { checkAlternatives, checkFaults, checkToolAnswers } from './checks/judged-alike';
import { checkMalformedCalls } from './checks/malformed-calls';
import { checkObservationFormat } from './checks/observation-format';
import { checkSafeReward } from './checks/safe-reward';
import { checkSolvable } from './checks/solvable';
import { checkSolutions } from './checks/solved-alike';
import { checkTextGain } from './checks/text-gain';
import { checkTrivialPolicy, type TrivialPolicy } from './checks/trivial-policies';
import { checkSystemMessage, checkWording } from './checks/wording';
import { type EnvironmentTask, readTasks, validationSeeds } from './environment-task';
import { inspectSource } from './inspect-source';
import { interfaceDifferences } from './interface-differences';
import { type JudgedVariation, judgeVariations } from './judged-variations';
import { checkKeptState } from './kept-state';
import { type KnownArguments, learnSources } from './known-sources';
import { AHEAD_SECONDS } from './limits';
import { speakingTools } from './moves';
import { NEUTRAL } from './scripted-policies';
import { playReferences, type SolvedTask } from './solved-tasks';
import type { TargetProfile } from './target-profile';
import { materialOf } from './variations';

/** The environment to check, and the reference for the comparison. */
interface RunChecksOptions {
  openEnvironment: OpenEnvironment;
  environment: ModuleSource;
  /** The agent's own environment, with which this one is compared. */
  target: TargetProfile;
  settings: AgentSpec['certificate'];
  signal: AbortSignal;
  /** Called after each check. */
  onCheck: (check: EnvironmentCheck, done: number, total: number) => void;
}

/**
 * Processes in addition to three (one answers requests for solutions, one gets none, one gets training seeds only): the
 * seconds by which their clocks are ahead.
 */
const FRESH_PROCESSES = [0, AHEAD_SECONDS];
/** Tasks whose solutions are changed. */
const VARIED_TASKS = 32;
const MAX_PROBLEMS = 10;
const MAX_PROBLEM_CHARS = 400;

type Check = (run: CheckRun) => CheckResult | Promise<CheckResult>;

const trivial = (...policies: TrivialPolicy[]): Record<string, Check> =>
  Object.fromEntries(
    policies.map((policy) => [policy, async (run) => checkTrivialPolicy(await run.played(), run.input(), policy)]),
  );

/**
 * All checks by group and name, in the order in which they run. The checks of the group `form` find out whether the
 * module can be used at all. Each needs the one before it. When one of them fails, no other check runs, because it
 * would only repeat the fault. The checks of the other groups find out whether the environment is worth training in.
 * They all run, so that one attempt reports every fault.
 */
const CHECKS: Record<Exclude<CheckGroup, 'calibrated' | 'read-blind'>, Record<string, Check>> = {
  form: {
    parses: (run) => run.parse(),
    imports: (run) => run.checkRules(),
    loads: (run) => run.load(),
    interface: ({ target, tools }) =>
      resultOf(interfaceDifferences(target.tools, tools), "The tools are the agent's.", []),
    tasks: (run) => run.readTasks(),
    'observation-format': async (run) => checkObservationFormat(await run.played(), run.input(), run.target),
  },
  solvable: {
    solvable: async (run) => checkSolvable(await run.played(), run.input()),
    ...trivial('nop', 'random-calls', 'echo-the-prompt', 'repeat-one-tool', 'always-refuse'),
  },
  'reward-hacks': {
    ...trivial('claim-success', 'tool-spam', 'injected-text'),
    'text-gain': async (run) => checkTextGain(await run.played(), run.input()),
    'safe-reward': async (run) => checkSafeReward(await run.played(), run.input()),
    'malformed-calls': async (run) => checkMalformedCalls(await run.played(), run.input()),
  },
  deterministic: {
    deterministic: (run) => run.checkDeterminism(),
    'kept-state': ({ options: { openEnvironment, environment }, tasks, texts }) =>
      checkKeptState(openEnvironment, environment, tasks, [NEUTRAL, ...texts.slice(0, 3)]),
  },
  diverse: {
    diverse: ({ tasks, options: { settings } }) => checkDiversity(tasks.slice(0, settings.diversitySeeds)),
  },
  isolated: {
    isolated: async (run) => checkIsolation(await run.played(), run.input()),
  },
  'no-leakage': {
    'held-out-text': ({ options, tasks, target }) => checkHeldOutText(options.environment.source, tasks, target),
    answers: async (run) => checkAnswers(await run.played(), run.input(), run.target),
  },
  'like-the-target': {
    'system-message': (run) => checkSystemMessage(run.input().tasks, run.target),
    wording: (run) => checkWording(run.input().tasks, run.target),
    // All tasks that were read: few of them would have each kind of opening.
    solutions: (run) => checkSolutions({ tools: run.tools, tasks: run.tasks }, run.target),
    derivable: async (run) => checkDerivable(await run.solvedTasks(), await run.knownArguments(), run.speaking()),
    dependence: async (run) =>
      checkDependence(await run.solvedTasks(), run.target.solved, await run.knownArguments(), run.speaking()),
    'tool-answers': async (run) => checkToolAnswers(await run.judgedVariations(), run.target.judgement),
    alternatives: async (run) => checkAlternatives(await run.judgedVariations(), run.target.judgement),
    faults: async (run) => checkFaults(await run.judgedVariations(), run.target.judgement),
  },
};

/** Names of the checks in the order in which they run. */
export const CHECK_NAMES: readonly string[] = Object.values(CHECKS).flatMap((checks) => Object.keys(checks));

/**
 * Runs every check of a synthesised environment that needs no model. The environment runs in the jail. If it raises,
 * hangs or dies, the check fails and the next one runs. A check is run up to three times if its process is killed from
 * outside.
 * @throws Sandbox.Unavailable; EnvironmentKilled; the signal's reason.
 */
export async function runChecks(options: RunChecksOptions): Promise<Validation> {
  const { openEnvironment, environment, signal, onCheck } = options;
  const open = (laterBySeconds = 0): RestartingEnvironment =>
    new RestartingEnvironment(openEnvironment, laterBySeconds === 0 ? environment : { ...environment, laterBySeconds });
  const fresh = FRESH_PROCESSES.map(open);
  const processes = { asked: open(), played: open(), trained: open(), fresh };
  const run = new CheckRun(options, processes);
  const done: EnvironmentCheck[] = [];
  try {
    for (const [group, checks] of Object.entries(CHECKS) as [CheckGroup, Record<string, Check>][]) {
      for (const [name, check] of Object.entries(checks)) {
        const result = { name, group, ...(await resultOfRun(async () => check(run), signal)) };
        done.push(result);
        onCheck(result, done.length, CHECK_NAMES.length);
        if (group === 'form' && !result.passed) return validationOf(done);
      }
    }
    return validationOf(done);
  } finally {
    const all = [processes.asked, processes.played, processes.trained, ...fresh];
    await Promise.all(all.map((process) => process.close()));
  }
}

/** Runs one check. A fault of the environment fails it. Throws every other error. */
async function resultOfRun(check: () => Promise<CheckResult>, signal: AbortSignal): Promise<CheckResult> {
  signal.throwIfAborted();
  try {
    return await againIfKilled(check, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (isOutsideFault(error)) throw error;
    if (error instanceof SandboxUnavailable) throw failure('Sandbox.Unavailable', error.message, { cause: error });
    const fault = error instanceof Error && error.cause instanceof SandboxError ? error.cause : error;
    if (!(fault instanceof SandboxError)) throw error;
    return resultOf([(error as Error).message], '', []);
  }
}

/** Sums the checks up: passed if all passed, with the first failed ones as problems. */
function validationOf(checks: EnvironmentCheck[]): Validation {
  const failed = checks.filter(({ passed }) => !passed);
  const faults = new DeduplicatedFaults();
  const problems = failed.map(({ name, detail }) =>
    startOf(`${name}: ${faults.describe(name, detail)}`, MAX_PROBLEM_CHARS),
  );
  return { passed: failed.length === 0, problems: problems.slice(0, MAX_PROBLEMS), checks };
}

/** The shared state of an environment's checks: its processes, and data that earlier checks have read from them. */
class CheckRun {
  readonly target: TargetProfile;
  tools: EnvironmentTool[] = [];
  tasks: EnvironmentTask[] = [];
  /** The source's own texts. */
  texts: string[] = [];
  private rules: string[] = [];
  private judged: JudgedVariation[] | null = null;
  private solved: SolvedTask[] | null = null;
  private known: Promise<KnownArguments> | null = null;

  constructor(
    readonly options: RunChecksOptions,
    private readonly processes: Processes<RestartingEnvironment>,
  ) {
    this.target = options.target;
  }

  async parse(): Promise<CheckResult> {
    const { openEnvironment, environment } = this.options;
    const { syntax, rules, texts } = await inspectSource(openEnvironment, environment.source, environment.name);
    this.rules = rules;
    this.texts = texts;
    return resultOf(syntax, 'The source is Python.', []);
  }

  checkRules(): CheckResult {
    const allowed = this.rules.some((finding) => / imports /.test(finding))
      ? [`Allowed imports: ${ALLOWED_MODULES.join(', ')}.`]
      : [];
    return resultOf([...this.rules, ...allowed], 'Nothing forbidden was found in the source.', []);
  }

  async load(): Promise<CheckResult> {
    this.tools = (await (await this.processes.asked.running()).describe()).tools;
    return resultOf([], `The module loads and describes ${this.tools.length} tools.`, []);
  }

  async readTasks(): Promise<CheckResult> {
    const { settings, environment, signal } = this.options;
    const seeds = validationSeeds(Math.max(settings.seeds, settings.diversitySeeds), environment.source);
    this.tasks = await readTasks(await this.processes.asked.running(), seeds, signal);
    return resultOf([], `${this.tasks.length} tasks have an opening and a reference solution.`, []);
  }

  async checkDeterminism(): Promise<CheckResult> {
    const { asked, played, trained, fresh } = this.processes;
    const others = await Promise.all(fresh.map((process) => process.running()));
    const [askedNow, playedNow, trainedNow] = await Promise.all(
      [asked, played, trained].map((process) => process.running()),
    );
    return checkDeterminism(
      { asked: askedNow!, played: playedNow!, trained: trainedNow!, fresh: others },
      this.input(),
    );
  }

  /** Changed solutions, played once for all checks that use them. */
  async judgedVariations(): Promise<JudgedVariation[]> {
    const { tools, tasks } = this.input();
    const { target, signal } = this.options;
    const material = materialOf(tools, tasks, this.texts);
    const varied = tasks.slice(0, VARIED_TASKS);
    this.judged ??= await judgeVariations(await this.played(), varied, material, target.refusal, signal);
    return this.judged;
  }

  /** All tasks that were read, with the answers to the moves of their solutions. */
  async solvedTasks(): Promise<SolvedTask[]> {
    return (this.solved ??= await playReferences(await this.played(), this.tasks, this.options.signal));
  }

  /** Where the arguments of the agent's own solutions come from. */
  knownArguments(): Promise<KnownArguments> {
    return (this.known ??= learnSources(this.target.solved, this.speaking()));
  }

  /** The tools through which the agent speaks. */
  speaking(): Set<string> {
    return speakingTools(
      this.tools,
      [...this.target.solved, ...this.tasks].map(({ reference }) => reference),
    );
  }

  played(): Promise<EnvironmentHandle> {
    return this.processes.played.running();
  }

  input(): CheckInput {
    return { tools: this.tools, tasks: this.tasks.slice(0, this.options.settings.seeds) };
  }
}
