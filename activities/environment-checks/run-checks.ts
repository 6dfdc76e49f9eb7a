import type { CheckGroup, EnvironmentCheck, Validation } from '../../contracts/artifacts/environment-check';
import type { AgentSpec } from '../../contracts/config/agent-spec';
import type { EnvironmentTool } from '../../contracts/messages/environment-protocol';
import { DeduplicatedFaults } from '../../contracts/deduplicate-faults';
import { failure } from '../../contracts/typed-failure';
import { SandboxError, SandboxUnavailable } from '../../sandbox';
import { ALLOWED_MODULES } from '../allowed-modules';
import type { EnvironmentHandle, EnvironmentSource, OpenEnvironment } from '../environment';
import { againIfKilled, isOutsideFault } from '../killed-environment';
import { RestartingEnvironment } from '../rollout/restarting-environment';
import type { CheckInput, CheckResult } from './check';
import { checkAnswers } from './checks/answers';
import { checkDeterminism } from './checks/deterministic';
import { checkDiversity } from './checks/diverse';
import { checkHeldOutText } from './checks/held-out-text';
import { checkIsolation } from './checks/isolated';
import { checkAlternatives, checkFaults, checkToolAnswers } from './checks/judged-alike';
import { checkMalformedCalls } from './checks/malformed-calls';
import { checkObservationFormat } from './checks/observation-format';
import { checkSolvable } from './checks/solvable';
import { checkSolutions } from './checks/solved-alike';
import { checkTextGain } from './checks/text-gain';
import { checkTrivialPolicy, type TrivialPolicy } from './checks/trivial-policies';
import { checkSystemMessage, checkWording } from './checks/wording';
import { type EnvironmentTask, readTasks, validationSeeds } from './environment-task';
import { inspectSource, type SourceFindings } from './inspect-source';
import { interfaceDifferences } from './interface-differences';
import { type JudgedVariation, judgeVariations } from './judged-variations';
import { checkKeptState } from './kept-state';
import { NEUTRAL } from './scripted-policies';
import type { TargetProfile } from './target-profile';
import { materialOf } from './variations';

/** What to check, and against what. */
interface RunChecksOptions {
  openEnvironment: OpenEnvironment;
  environment: EnvironmentSource;
  /** The agent's own environment, with which this one is compared. */
  target: TargetProfile;
  settings: AgentSpec['certificate'];
  signal?: AbortSignal;
  /** Called after each check. */
  onCheck?: (check: EnvironmentCheck, done: number, total: number) => void;
}

/** Processes beside the one that is asked for solutions and the one that is not. */
const FRESH_PROCESSES = 2;
/** Tasks whose solutions are changed. */
const VARIED_TASKS = 32;
const MAX_PROBLEMS = 10;
const MAX_PROBLEM_CHARS = 400;

/**
 * Names of the checks in the order in which they run. Those of the group `form` come first. When one of them fails, no
 * other check runs: the others would only repeat the fault.
 */
export const CHECK_NAMES = [
  ...['parses', 'imports', 'loads', 'interface', 'tasks', 'observation-format'],
  ...['solvable', 'nop', 'random-calls', 'echo-the-prompt', 'repeat-one-tool', 'always-refuse'],
  ...['claim-success', 'tool-spam', 'injected-text', 'text-gain', 'malformed-calls'],
  ...['deterministic', 'kept-state', 'diverse', 'isolated', 'held-out-text', 'answers'],
  ...['system-message', 'wording', 'solutions', 'tool-answers', 'alternatives', 'faults'],
] as const;

/**
 * Runs every check of a synthesised environment that needs no model. The environment runs in the jail. Where it raises,
 * hangs or dies, the check fails and the caller goes on. A check whose process something outside kills is run three
 * times.
 * @throws Sandbox.Unavailable; EnvironmentKilled; the signal's reason.
 */
export async function runChecks(options: RunChecksOptions): Promise<Validation> {
  const { openEnvironment, environment } = options;
  const open = (): RestartingEnvironment => new RestartingEnvironment(openEnvironment, environment);
  const processes = { asked: open(), played: open(), fresh: Array.from({ length: FRESH_PROCESSES }, open) };
  try {
    const run = new CheckRun(options, processes);
    if (await run.checkForm()) await run.checkContent();
    return validationOf(run.done);
  } finally {
    await Promise.all([processes.asked, processes.played, ...processes.fresh].map((process) => process.close()));
  }
}

/** Sums the checks up: passed when all passed, with the first failed ones as problems. */
function validationOf(checks: EnvironmentCheck[]): Validation {
  const failed = checks.filter(({ passed }) => !passed);
  const faults = new DeduplicatedFaults();
  const problems = failed.map(({ name, detail }) =>
    `${name}: ${faults.tell(name, detail)}`.slice(0, MAX_PROBLEM_CHARS),
  );
  return { passed: failed.length === 0, problems: problems.slice(0, MAX_PROBLEMS), checks };
}

/** Processes of one environment. */
interface Processes {
  /** It is asked for tasks and reference solutions. */
  asked: RestartingEnvironment;
  /** It plays, and is never asked for them: nobody asks in training, and it must not pay more than there. */
  played: RestartingEnvironment;
  /** Others, for the check of determinism. */
  fresh: RestartingEnvironment[];
}

/** The checks of one environment. */
class CheckRun {
  readonly done: EnvironmentCheck[] = [];
  private tools: EnvironmentTool[] = [];
  private tasks: EnvironmentTask[] = [];
  private texts: string[] = [];
  private judged: JudgedVariation[] | null = null;

  constructor(
    private readonly options: RunChecksOptions,
    private readonly processes: Processes,
  ) {}

  /** Whether the module can be used at all. Each check needs the one before it. */
  async checkForm(): Promise<boolean> {
    const { openEnvironment, environment, target, settings } = this.options;
    let findings: SourceFindings = { syntax: [], rules: [], texts: [] };
    return (
      (await this.check('form', 'parses', async () => {
        findings = await inspectSource(openEnvironment, environment.source, environment.name);
        this.texts = findings.texts;
        return verdict(findings.syntax, 'The source is Python.');
      })) &&
      (await this.check('form', 'imports', () => {
        const allowed = findings.rules.some((finding) => / imports /.test(finding))
          ? [`Allowed imports: ${ALLOWED_MODULES.join(', ')}.`]
          : [];
        return verdict(
          findings.rules.length > 0 ? [...findings.rules, ...allowed] : [],
          'Nothing forbidden was found in the source.',
        );
      })) &&
      (await this.check('form', 'loads', async () => {
        this.tools = (await (await this.processes.asked.running()).describe()).tools;
        return verdict([], `The module loads and describes ${this.tools.length} tools.`);
      })) &&
      (await this.check('form', 'interface', () =>
        verdict(interfaceDifferences(target.tools, this.tools), "The tools are the agent's."),
      )) &&
      (await this.check('form', 'tasks', async () => {
        this.tasks = await readTasks(
          await this.processes.asked.running(),
          validationSeeds(Math.max(settings.seeds, settings.diversitySeeds), environment.source),
          this.options.signal,
        );
        return verdict([], `${this.tasks.length} tasks have an opening and a reference solution.`);
      })) &&
      (await this.check('form', 'observation-format', async () =>
        checkObservationFormat(await this.played(), this.input(), target),
      ))
    );
  }

  /** Checks whether the environment is worth training in. All checks run, so that one attempt learns of every fault. */
  async checkContent(): Promise<void> {
    const { openEnvironment, environment, target, settings } = this.options;
    const input = this.input();
    const trivial = (group: CheckGroup, policy: TrivialPolicy): Promise<boolean> =>
      this.check(group, policy, async () => checkTrivialPolicy(await this.played(), input, policy));
    await this.check('solvable', 'solvable', async () => checkSolvable(await this.played(), input));
    await trivial('solvable', 'nop');
    await trivial('solvable', 'random-calls');
    await trivial('solvable', 'echo-the-prompt');
    await trivial('solvable', 'repeat-one-tool');
    await trivial('solvable', 'always-refuse');
    await trivial('reward-hacks', 'claim-success');
    await trivial('reward-hacks', 'tool-spam');
    await trivial('reward-hacks', 'injected-text');
    await this.check('reward-hacks', 'text-gain', async () => checkTextGain(await this.played(), input));
    await this.check('reward-hacks', 'malformed-calls', async () => checkMalformedCalls(await this.played(), input));
    await this.check('deterministic', 'deterministic', async () => {
      const { asked, played, fresh } = this.processes;
      const others = await Promise.all(fresh.map((process) => process.running()));
      return checkDeterminism({ asked: await asked.running(), played: await played.running(), fresh: others }, input);
    });
    await this.check('deterministic', 'kept-state', () =>
      checkKeptState(openEnvironment, environment, this.tasks, [NEUTRAL, ...this.texts.slice(0, 3)]),
    );
    await this.check('diverse', 'diverse', () => checkDiversity(this.tasks.slice(0, settings.diversitySeeds)));
    await this.check('isolated', 'isolated', async () => checkIsolation(await this.played(), input));
    await this.check('no-leakage', 'held-out-text', () => checkHeldOutText(environment.source, this.tasks, target));
    await this.check('no-leakage', 'answers', async () => checkAnswers(await this.played(), input, target));
    await this.checkLikeness(input);
  }

  /** Checks whether the environment is like the agent's own in what it says, asks, does and pays. */
  private async checkLikeness(input: CheckInput): Promise<void> {
    const { target } = this.options;
    await this.check('like-the-target', 'system-message', () => checkSystemMessage(input.tasks, target));
    await this.check('like-the-target', 'wording', () => checkWording(input.tasks, target));
    await this.check('like-the-target', 'solutions', () => checkSolutions(input, target));
    await this.check('like-the-target', 'tool-answers', async () =>
      checkToolAnswers(await this.judgedVariations(), target.judgement),
    );
    await this.check('like-the-target', 'alternatives', async () =>
      checkAlternatives(await this.judgedVariations(), target.judgement),
    );
    await this.check('like-the-target', 'faults', async () =>
      checkFaults(await this.judgedVariations(), target.judgement),
    );
  }

  /** Changed solutions, played once for all checks that look at them. */
  private async judgedVariations(): Promise<JudgedVariation[]> {
    const { target, signal = new AbortController().signal } = this.options;
    const { tools, tasks } = this.input();
    const material = materialOf(tools, tasks, this.texts);
    this.judged ??= await judgeVariations(
      await this.played(),
      tasks.slice(0, VARIED_TASKS),
      material,
      target.refusal,
      signal,
    );
    return this.judged;
  }

  private played(): Promise<EnvironmentHandle> {
    return this.processes.played.running();
  }

  private input(): CheckInput {
    return { tools: this.tools, tasks: this.tasks.slice(0, this.options.settings.seeds) };
  }

  private async check(
    group: CheckGroup,
    name: (typeof CHECK_NAMES)[number],
    run: () => CheckResult | Promise<CheckResult>,
  ): Promise<boolean> {
    this.options.signal?.throwIfAborted();
    let result: CheckResult;
    try {
      result = await againIfKilled(async () => run(), this.options.signal);
    } catch (error) {
      this.options.signal?.throwIfAborted();
      if (isOutsideFault(error)) throw error;
      result = faultOf(error);
    }
    const { passed, detail, figures } = result;
    const check: EnvironmentCheck = { name, group, passed, detail, figures };
    this.done.push(check);
    this.options.onCheck?.(check, this.done.length, CHECK_NAMES.length);
    return passed;
  }
}

const verdict = (problems: readonly string[], fine: string): CheckResult => ({
  passed: problems.length === 0,
  detail: problems.length === 0 ? fine : problems.join(' '),
  figures: [],
});

/** A fault of the environment as a failed check. Throws any other error. */
function faultOf(error: unknown): CheckResult {
  if (error instanceof SandboxUnavailable) throw failure('Sandbox.Unavailable', error.message, { cause: error });
  const fault = error instanceof Error && error.cause instanceof SandboxError ? error.cause : error;
  if (!(fault instanceof SandboxError)) throw error;
  return { passed: false, detail: (error as Error).message, figures: [] };
}
