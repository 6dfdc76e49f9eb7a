import { Command, Option, type OutputConfiguration } from 'commander';
import { CONVERSATION_FORMATS } from '../contracts/artifacts/conversation';
import { IDENTIFY_ARMS } from '../contracts/artifacts/identification';
import { REDACTION_RULES } from '../contracts/config/analyst-spec';
import { RUN_ENDS, TASK_QUEUES } from '../contracts/names';
import { projectVersion } from '../contracts/project-version';
import { daysOrMore, positiveAmount, positiveNumber, shareUpTo, wholeNumber, refuseEmpty } from './arguments';
import { answerCommand, approveCommand } from './commands/answers';
import { budgetCommand } from './commands/budget';
import { canaryCommand } from './commands/canary';
import { cancelCommand } from './commands/cancel';
import { demoCommand } from './commands/demo';
import { diagnoseCommand } from './commands/diagnose';
import { dryRunCommand } from './commands/dry-run';
import { envCheckCommand, envEditCommand, envRunCommand } from './commands/env';
import { envAddCommand } from './commands/env-add';
import { envTasksCommand } from './commands/env-tasks';
import { forgetCommand } from './commands/forget';
import { gatewayCommand } from './commands/gateway';
import { gcCommand } from './commands/gc';
import { historyCommand } from './commands/history';
import { ingestCommand } from './commands/ingest';
import { initCommand } from './commands/init';
import { lineageCommand } from './commands/lineage';
import { lsCommand } from './commands/ls';
import { promoteCommand, rollbackCommand } from './commands/registry';
import { repairCommand } from './commands/repair';
import { reportCommand } from './commands/report';
import { type RunFlags, runCommand } from './commands/run';
import { scheduleCommand } from './commands/schedule';
import {
  scheduleLsCommand,
  schedulePauseCommand,
  scheduleResumeCommand,
  scheduleTriggerCommand,
} from './commands/schedules';
import { statusCommand, whyCommand } from './commands/status';
import { studyStabilityCommand } from './commands/study';
import { downCommand, upCommand } from './commands/up-down';
import { validateCommand } from './commands/validate';
import { workerCommand } from './commands/worker';
import { type CommonOptions, type Context, openContext } from './context';
import { FREE_USD } from './diagnose/agreed-cost';
import { KIND_FLAGS, MODEL_FLAGS } from './init/questions';
import { PORTS } from './settings';

const EXIT_CODES = `
Exit codes: 0 done, 1 failed, 2 wrong input (nothing was started).
Every command takes --json: one JSON document on standard output; an error is {"error": {"type", "message"}}.`;

/**
 * The `whet` command line. The help lists the commands in the order in which they are added. Usage errors, help and
 * version throw a CommanderError and never end the process.
 * @param output the target of help and usage errors. Default: the standard streams.
 */
export function createProgram(output: OutputConfiguration = {}): Command {
  // Commands inherit the settings that are made before the commands are added.
  const program = new Command('whet')
    // Otherwise a command with subcommands would take the options after a subcommand as its own.
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput(output)
    .hook('preAction', (_program, command) => refuseEmpty(command))
    .description(
      'Finds what a deployed LLM agent cannot do, trains an adapter for each missing capability, ' +
        'proves the gain and serves it.',
    );
  program.version(projectVersion(), '--version', 'print the version');
  program.addHelpText('after', EXIT_CODES).showHelpAfterError('(whet --help lists the commands)');
  addInitCommand(program);
  addServiceCommands(program);
  addRunCommands(program);
  addAnswerCommands(program);
  addTraceCommands(program);
  addStoreCommands(program);
  addEnvironmentCommands(program.command('env').description('environments written by the analyst or by hand'));
  addStudyCommands(program.command('study').description('experiments with the finished runs of an agent'));
  addAdapterCommands(program);
  addProductionCommands(program);
  return program;
}

/** Adds a command with the arguments in `usage`, its description and the option of every command. */
const add = (parent: Command, usage: string, description: string): Command =>
  parent.command(usage).description(description).option('--json', 'print JSON');

/** Opens the context and runs an action, which gets the options as its last argument. */
const withContext =
  <A extends unknown[]>(action: (context: Context, ...rest: A) => void | Promise<void>) =>
  async (...all: unknown[]): Promise<void> => {
    // commander passes arguments, options and command.
    const rest = all.slice(0, -1) as A;
    await action(openContext(rest.at(-1) as CommonOptions), ...rest);
  };

/** Every question that it asks in a terminal is also a flag. */
function addInitCommand(program: Command): void {
  const init = add(program, 'init <name>', 'write the smallest agent.yaml, and what it needs, into a new folder');
  const names = KIND_FLAGS.map(({ name }) => name);
  for (const { name, usage, about } of KIND_FLAGS)
    init.addOption(new Option(usage, about).conflicts(names.filter((other) => other !== name)));
  for (const { usage, about } of MODEL_FLAGS) init.option(usage, about);
  init.action(withContext(initCommand));
}

function addServiceCommands(program: Command): void {
  add(program, 'demo [agent.yaml]', 'start the services, follow one improvement run, show its result, stop')
    .option('--seed <n>', "replaces the agent's seed", wholeNumber)
    .option('--keep', 'leave the services up')
    .option('--ignore-open-runs', 'start even if open runs cannot continue with these services')
    .option('--since <seconds>', 'start of the total time, in seconds since 1970; default: now', wholeNumber)
    .action(withContext(demoCommand));
  add(program, 'up [agent.yaml]', 'start Temporal, policy server, analyst and worker on this machine')
    .option('--foreground', 'stay in the foreground; Ctrl-C stops everything')
    .option('--ignore-open-runs', 'start even if open runs cannot continue with these services')
    .action(withContext(upCommand));
  add(program, 'down', 'stop what `whet up` started').action(withContext(downCommand));
}

function addRunCommands(program: Command): void {
  add(program, 'validate <agent.yaml>', 'check an agent.yaml, import its environment and play some tasks')
    .option('--no-run', 'execute nothing of the environment')
    .option('--seconds <n>', "most seconds for a program's task, where agent.yaml allows more", positiveNumber)
    .action(withContext(validateCommand));
  add(program, 'run <agent.yaml>', 'start an improvement run')
    .option('--seed <n>', "replaces the agent's seed", wholeNumber)
    .option('--follow', 'show its stages until it ends')
    .addOption(
      new Option('--arm <name>', 'how capabilities are chosen; all but contrast are ablations').choices(IDENTIFY_ARMS),
    )
    .option('--ablations', 'report what every arm would choose')
    .addOption(new Option('--until <stage>', 'end with a report after this stage, and train nothing').choices(RUN_ENDS))
    .option('--dry-run', 'print calls, tokens and cost of each stage, and start nothing')
    .action(
      withContext((context: Context, path: string, options: RunFlags & { dryRun?: boolean }) =>
        options.dryRun === true ? dryRunCommand(context, path, options.until) : runCommand(context, path, options),
      ),
    );
  add(program, 'ls', 'list runs, the newest first')
    .option('--agent <name>', 'list only runs of this agent')
    .option('--waiting', 'list what waits for somebody: why, since when, for whom, and the commands that answer it')
    .option('--limit <n>', 'largest number of listed runs', positiveNumber, 20)
    .action(withContext(lsCommand));
  add(program, 'status [run]', "show a run's stages; without a run, show the services")
    .option('--follow', 'show the stages until the run ends')
    .action(withContext(statusCommand));
  add(program, 'why <run>', 'explain what a run waits for, and why').action(withContext(whyCommand));
  add(program, 'cancel <run>', 'stop a run for good; what it has written stays')
    .option('--no-wait', 'do not wait until its trainers have stopped')
    .action(withContext(cancelCommand));
  add(program, 'history <agent>', "show an agent's nights: what each found, changed and used")
    .option('--html <file>', 'also write a page with pictures')
    .action(withContext(historyCommand));
  add(
    program,
    'lineage <id>',
    'show where a trajectory, capability, adapter or version came from, and what was made from it',
  ).action(withContext(lineageCommand));
  add(program, 'report <run>', "show a run's result, and where its report is").action(withContext(reportCommand));
}

/** Commands with which a person answers a run that waits. */
function addAnswerCommands(program: Command): void {
  add(program, 'approve <run>', 'approve the promotion that a run waits for').action(withContext(approveCommand));
  add(program, 'budget <run>', 'show what a run has spent on the analyst and on simulated users, and change its limits')
    .option('--usd <n>', 'new limit in US dollars', positiveAmount)
    .option('--tokens <n>', 'new limit in tokens', positiveNumber)
    .option('--environment-usd <n>', 'new limit of simulated users and judges in US dollars', positiveAmount)
    .option('--environment-tokens <n>', 'new limit of simulated users and judges in tokens', positiveNumber)
    .action(withContext(budgetCommand));
  add(program, 'retry <run> [waiting]', 'try again what waits in a run: everything, or one stage or capability')
    .option('--spec <agent.yaml>', 'apply the corrected endpoints, limits and resources of this file')
    .action(
      withContext((context: Context, run: string, waiting: string | undefined, options: { spec?: string }) =>
        answerCommand(context, 'retry', run, waiting, options),
      ),
    );
  add(
    program,
    'skip <run> <waiting>',
    'continue a run without a capability that waits, or without its mixed adapter',
  ).action(
    withContext((context: Context, run: string, waiting: string) => answerCommand(context, 'skip', run, waiting)),
  );
}

/** Commands for conversations that other tools recorded. */
function addTraceCommands(program: Command): void {
  withIngestOptions(
    add(program, 'ingest <files...>', "read an agent's conversations from other tools' files and folders, also .gz"),
  )
    .requiredOption('--agent <name>', 'the agent whose conversations they are')
    .action(withContext(ingestCommand));
  withIngestOptions(
    add(
      program,
      'diagnose <files...>',
      'ingest conversations, find what the agent lacks, write a page; starts what it needs',
    ),
  )
    .option('--agent <name>', 'the agent whose conversations they are; default: the name of the first file')
    .option('--analyst <name>', 'demo, or a folder: recorded answers in place of a model; no key is needed')
    .option('--yes', 'do not ask, whatever the analyst may cost')
    .option('--max-usd <n>', `do not ask up to this cost; default: ${FREE_USD}`, positiveAmount)
    .action(withContext(diagnoseCommand));
  add(program, 'forget', 'remove an ingested conversation, with its outcomes and the lines that were kept aside')
    .requiredOption('--agent <name>', 'whose conversation it is')
    .requiredOption('--conversation <id>', 'its id, or that of its trace')
    .action(withContext(forgetCommand));
}

/** What `whet ingest` takes beside files. */
const withIngestOptions = (command: Command): Command =>
  command
    .addOption(new Option('--format <name>', 'default: detected').choices(CONVERSATION_FORMATS))
    .option('--outcomes <file>', 'JSON Lines or CSV with an id and an outcome in each line')
    .option('--pass <rule>', "the score that decides, as 'correctness>=0.7' or 'status=resolved'; default: all agree")
    .option('--redact <rules>', `replace before anything is stored: ${REDACTION_RULES.join(', ')}`);

/** Commands that repair and clean the store. */
function addStoreCommands(program: Command): void {
  add(program, 'repair <run>', 'make damaged or missing artifacts of a run again')
    .option('--dry-run', 'list what is damaged, and change nothing; exit code 1 if something is damaged')
    .option('--yes', 'if recorded answers of the analyst are missing, ask and pay again')
    .action(withContext(repairCommand));
  const setting = (flags: string, description: string, variable: string) =>
    new Option(flags, description).env(variable);
  add(program, 'gc', 'remove old and unused data from the store')
    .option('--dry-run', 'show what would be removed and what stays, and change nothing')
    .addOption(
      setting('--older-than <span>', 'smallest age of removed runs, adapters, labels and traces', 'WHET_GC_OLDER_THAN')
        .argParser(daysOrMore)
        .default(30 * 86_400_000, '30d'),
    )
    .addOption(
      setting('--keep-runs <n>', 'number of newest runs to keep for each agent', 'WHET_GC_KEEP_RUNS')
        .argParser(wholeNumber)
        .default(10),
    )
    .addOption(
      setting('--keep-versions <n>', 'number of versions to keep for a rollback', 'WHET_GC_KEEP_VERSIONS')
        .argParser(positiveNumber)
        .default(5),
    )
    .action(withContext(gcCommand));
}

function addEnvironmentCommands(env: Command): void {
  add(env, 'check <file>', 'run every check of its certificate that needs no model; exit code 1 if one fails')
    .option(
      '--agent <agent.yaml>',
      'the agent that the environment is for; default: the one in this directory, else the demo',
    )
    .action(withContext(envCheckCommand));
  add(env, 'run <file>', 'play one episode in the jail: your moves on standard input, or the reference solution')
    .option('--seed <n>', 'seed of the task', wholeNumber, 0)
    .option('--reference', 'play the reference solution')
    .action(withContext(envRunCommand));
  add(
    env,
    'edit <run> <capability> [file]',
    'with a file: give it to the waiting run; without: copy the last environment to this directory',
  ).action(withContext(envEditCommand));
  add(
    env,
    'add <target>',
    'install the packages of a target, such as tau2, in a virtual environment of its own',
  ).action(withContext(envAddCommand));
  add(env, 'tasks <agent.yaml>', "print the named tasks of the agent's process, a JSON object a line").action(
    withContext(envTasksCommand),
  );
}

function addStudyCommands(study: Command): void {
  add(
    study,
    'stability <agent>',
    'identify several times from the same trajectories, independently, and compare the results',
  )
    .option('--runs <n>', 'independent identifications', positiveNumber, 10)
    .option(
      '--from <run>',
      'use the trajectories of this run; default: the last run of the agent that has trajectories',
    )
    .action(withContext(studyStabilityCommand));
}

function addAdapterCommands(program: Command): void {
  add(program, 'promote <agent>', "make a version of the agent's adapters the active one")
    .argument('<version>', '', positiveNumber)
    .action(withContext(promoteCommand));
  add(program, 'rollback <agent>', 'end the canary; without one, activate the version before the active one').action(
    withContext(rollbackCommand),
  );
  add(program, 'canary <agent>', 'give a version a share of the conversations; without a version, show the canary')
    .argument('[version]', '', positiveNumber)
    .option('--share <share>', 'share of new conversations, up to 0.5', shareUpTo(0.5), 0.1)
    .option(
      '--false-rollback <chance>',
      'probability of a rollback of a canary that is as good as the active version',
      shareUpTo(0.4),
      0.05,
    )
    .option('--stop', 'end the canary')
    .action(withContext(canaryCommand));
}

/** Commands that run for long: the gateway, a schedule of runs, separate workers. */
function addProductionCommands(program: Command): void {
  const { variable, fallback } = PORTS.gateway;
  add(program, 'gateway [agent.yaml...]', "run the agents' OpenAI-compatible endpoint in the foreground")
    .option('--config <gateway.yaml>', 'instead of agent.yaml files')
    .option('--host <address>', 'to listen on')
    .option('--port <port>', `to listen on (${variable}, ${fallback})`, wholeNumber)
    .option(
      '--upstream <url>',
      'a model server, ending in /v1; can be given several times',
      (url: string, all: string[]) => [...all, url],
      [] as string[],
    )
    .action(withContext(gatewayCommand));
  // Options after a subcommand belong to the subcommand.
  const schedule = add(program, 'schedule [agent.yaml]', 'run an agent regularly')
    .enablePositionalOptions()
    .option('--cron <expression>', "such as '0 3 * * *'")
    .option('--timezone <name>', 'of the cron expression', 'UTC')
    .option('--jitter <span>', 'largest random delay of a start', '10m')
    .option('--catch-up <span>', 'a missed start happens later, up to this long after its time', '6h')
    .option('--delete', 'remove the schedule')
    .addOption(new Option('--until <stage>').hideHelp())
    .action(withContext(scheduleCommand));
  addScheduleCommands(schedule);
  const queues = Object.keys(TASK_QUEUES);
  add(program, 'worker', 'run one worker in the foreground')
    .option('--queues <names>', queues.join(', '), queues.join(','))
    .action(withContext(workerCommand));
}

/** The actions on an existing schedule; an agent is given by its name or its agent.yaml. */
function addScheduleCommands(schedule: Command): void {
  add(schedule, 'ls', 'list every schedule with its next and its last night').action(withContext(scheduleLsCommand));
  add(schedule, 'pause <agent>', 'start no night until it is resumed; a night that has begun continues')
    .option('--note <text>', 'why, for `whet schedule ls`')
    .action(withContext(schedulePauseCommand));
  add(schedule, 'resume <agent>', 'start nights again').action(withContext(scheduleResumeCommand));
  add(schedule, 'trigger <agent>', 'start a night now').action(withContext(scheduleTriggerCommand));
}
