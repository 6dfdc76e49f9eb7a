/** The failures of `whet` commands. Failures of a run are in `run.ts`. */

interface CommandFailure {
  /** Exit code of the command. 1: it failed. 2: wrong input, and nothing was started. */
  exitCode: 1 | 2;
  meaning: string;
  remedy: string;
}

/** Types that `whet --json` names as `error.type`, dotted and stable; listed in docs/reference/errors.md. */
export const COMMAND_FAILURES = {
  'Cli.Failed': {
    exitCode: 1,
    meaning: 'The command failed for a reason that has no type of its own. Exit code 2 if an argument was wrong.',
    remedy: 'Do what the message says.',
  },
  'Cli.Unexpected': {
    exitCode: 1,
    meaning: 'An error that no command expects: a defect of `whet`.',
    remedy: 'Run the command again without --json for the stack, and report both.',
  },
  'Cli.Usage': {
    exitCode: 2,
    meaning: 'There is no such command or option, an argument is missing, or a value of one cannot be used.',
    remedy: 'Correct what the message names; `whet COMMAND --help` lists arguments and options.',
  },
  'State.DiskFull': {
    exitCode: 1,
    meaning: 'A file could not be written: the disk is full, or the quota of this user is used up.',
    remedy: 'Free space on the disk that the message names. Services that are up continue by themselves.',
  },
  'State.NotAllowed': {
    exitCode: 1,
    meaning: 'A file or process belongs to another user, or the disk is read-only.',
    remedy: 'Run the command as the user whose state directory it is, or set WHET_HOME and WHET_STORE.',
  },
  'Settings.Invalid': {
    exitCode: 2,
    meaning: 'An environment variable has a value that cannot be used.',
    remedy: 'Correct the variable that the message names; docs/reference/variables.md lists all of them.',
  },
  'Temporal.Unreachable': {
    exitCode: 1,
    meaning: 'No Temporal server answers.',
    remedy: 'Start one with `whet up`, or set TEMPORAL_ADDRESS to the address of yours, which must run.',
  },
  'Temporal.Failed': {
    exitCode: 1,
    meaning: 'The Temporal server answered with an error.',
    remedy: "Read the message and the server's log; `whet up` keeps one in the state directory, logs/temporal.log.",
  },
  'Temporal.NamespaceMissing': {
    exitCode: 2,
    meaning: 'The Temporal server has no namespace of this name.',
    remedy: 'Correct TEMPORAL_NAMESPACE, or make the namespace with the command in the message.',
  },
  'Temporal.AttributesMissing': {
    exitCode: 1,
    meaning: 'The namespace lacks search attributes that every run sets, so its first step would fail for ever.',
    remedy: 'Start a worker of this version, which registers them, or use the command in the message.',
  },
  'Temporal.CliMissing': {
    exitCode: 1,
    meaning: 'The Temporal CLI, which brings the embedded server, was not found.',
    remedy: 'Run `make setup`, or set TEMPORAL_CLI_PATH to the program.',
  },
  'Up.OpenRuns': {
    exitCode: 2,
    meaning: 'Open runs could not continue with the services that would be started: another model, or another analyst.',
    remedy: 'Choose what the message offers: continue with them, another WHET_HOME, or --ignore-open-runs.',
  },
  'Up.NotReady': {
    exitCode: 1,
    meaning: 'The services of `whet up` are still starting, and the command needs what is not ready yet.',
    remedy: 'Wait until `whet status` shows every service as ready or done; the message names the logs.',
  },
  'Up.AlreadyUp': {
    exitCode: 1,
    meaning: '`whet up --foreground` was asked for while the services are up.',
    remedy: 'Stop them with `whet down` first.',
  },
  'Up.OtherAgent': {
    exitCode: 1,
    meaning: 'The services that are up serve another agent or a model of another seed, or ask another analyst.',
    remedy: 'Stop them with `whet down` first, or use another state directory (WHET_HOME).',
  },
  'Up.PortTaken': {
    exitCode: 1,
    meaning: 'Another process listens at a port that a service needs.',
    remedy: 'Stop that process, or set the variable that the message names to a free port.',
  },
  'Up.VllmMissing': {
    exitCode: 1,
    meaning: 'The agent wants a vLLM (model.server), and none is installed in the expected places.',
    remedy: 'Run `scripts/vllm.sh`, or set WHET_VLLM_PYTHON to a Python that has vLLM.',
  },
  'Up.Failed': {
    exitCode: 1,
    meaning: 'A service did not start, or the services were stopped while they started.',
    remedy: "Read the end of the service's log in the message; logs/ in the state directory has the rest.",
  },
  'Up.Interrupted': {
    exitCode: 1,
    meaning: 'The command was interrupted before the services were ready.',
    remedy: 'Run it again.',
  },
  'Up.GoesOn': {
    exitCode: 1,
    meaning: 'The command that waited for the services was interrupted. They are still starting.',
    remedy: '`whet up` with the same agent waits for them again; `whet down` stops them.',
  },
  'Demo.NoAnalyst': {
    exitCode: 2,
    meaning: 'No analyst is set, and none comes with the agent.yaml of `whet demo`. Nothing was started.',
    remedy: 'Set `analyst.baseUrl`, or OPENAI_API_KEY and OPENAI_BASE_URL.',
  },
  'Diagnose.NoAnalyst': {
    exitCode: 2,
    meaning: 'No analyst is set that could read the conversations. They are stored; nothing was started.',
    remedy: 'Set the variables that the message names, or give `--analyst`.',
  },
  'Diagnose.NotAgreed': {
    exitCode: 2,
    meaning: 'Nobody agreed to what the diagnosis may cost. The conversations are stored; nothing was started.',
    remedy: 'Give the flag that the message names.',
  },
  'Diagnose.TooFew': {
    exitCode: 2,
    meaning: 'Too few conversations succeeded, or failed, to contrast them. They are stored; nothing was started.',
    remedy: 'Ingest as many more as the message says, or the outcomes of those that have none.',
  },
  'Diagnose.Interrupted': {
    exitCode: 1,
    meaning: 'The diagnosis was interrupted during its run.',
    remedy: 'The same command continues with the same run.',
  },
  'Demo.Interrupted': {
    exitCode: 1,
    meaning: 'The demo was interrupted during its run.',
    remedy: 'The same command continues with the same run.',
  },
  'Run.GoesOn': {
    exitCode: 1,
    meaning: 'The command that followed a run was interrupted. The run continues.',
    remedy: '`whet status RUN --follow` shows it again; `whet cancel RUN` ends it for good.',
  },
  'Run.NotFound': {
    exitCode: 2,
    meaning: 'The Temporal server knows no run with this id.',
    remedy: '`whet ls` lists the runs; check TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE.',
  },
  'Run.NotWaiting': {
    exitCode: 2,
    meaning: 'The run does not wait for a person, so there is nothing to answer.',
    remedy: '`whet why RUN` says what it does.',
  },
  'Run.NoWorker': {
    exitCode: 1,
    meaning: 'No worker asks for work, so nobody could pass the answer on. The run did not get it.',
    remedy: 'Start the services with `whet up`, or a worker with `whet worker`, and repeat the command.',
  },
  'Answer.NotWaiting': {
    exitCode: 2,
    meaning: 'Nothing in the run waits under the name that was given to `whet retry` or `whet skip`.',
    remedy: 'Use a name that the message lists; `whet why RUN` says what each waits for.',
  },
  'Answer.NotSkippable': {
    exitCode: 2,
    meaning: '`whet skip` names a stage that later stages need.',
    remedy: 'Correct what it waits for, then `whet retry RUN`; or cancel the run.',
  },
  'Approve.NotAsked': {
    exitCode: 2,
    meaning: 'The run does not ask for an approval: it has no result yet, or its agent.yaml wants none.',
    remedy: 'Wait until `whet status RUN` says that it waits for approval.',
  },
  'Run.Ended': {
    exitCode: 1,
    meaning: 'The run has ended, so it takes no answer, environment or budget.',
    remedy: '`whet report RUN` shows its result.',
  },
  'Run.StillStopping': {
    exitCode: 1,
    meaning: '`whet cancel` was interrupted before the run had stopped.',
    remedy: 'Nothing: the run stops by itself. `whet cancel RUN` waits for it again.',
  },
  'Run.Failed': {
    exitCode: 1,
    meaning: 'The run ended without a result, and its failure has no type of its own.',
    remedy: 'Read the message; `whet why RUN` shows it again.',
  },
  'Gc.RegistryUnreadable': {
    exitCode: 1,
    meaning: 'An adapter registry cannot be read, so `whet gc` cannot tell what its versions need.',
    remedy: 'Restore the registry that the message names; nothing was removed.',
  },
  'Gc.DocumentUnreadable': {
    exitCode: 1,
    meaning: 'A document of the store cannot be read now, so `whet gc` cannot tell what it needs.',
    remedy: 'Make the file that the message names readable, then run `whet gc` again; no file was removed.',
  },
  'Repair.UnderWay': {
    exitCode: 1,
    meaning: 'Another repair of this run is under way.',
    remedy: 'Wait for it, or cancel its workflow, which the message names.',
  },
  'Report.Missing': {
    exitCode: 1,
    meaning: 'The run has no report, or its file cannot be read on this machine.',
    remedy: 'Wait until the run ends, or look at the report on the machine where the worker ran.',
  },
  'Report.Invalid': {
    exitCode: 1,
    meaning: 'The report was written by another version of Whetstone.',
    remedy: 'Read it with the version that wrote it.',
  },
  'Budget.NoPrices': {
    exitCode: 2,
    meaning: 'A budget in dollars was given for an agent.yaml without prices.',
    remedy: 'Use --tokens, or set analyst.pricePerMillionInput and analyst.pricePerMillionOutput before the next run.',
  },
  'Schedule.Invalid': {
    exitCode: 2,
    meaning: 'A flag of `whet schedule` is missing or wrong.',
    remedy: 'Correct the flag that the message names.',
  },
  'Schedule.NotFound': {
    exitCode: 2,
    meaning: 'The agent has no schedule.',
    remedy: 'Check the name in agent.yaml, TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE.',
  },
  'History.Empty': {
    exitCode: 2,
    meaning: 'The store has no run of this agent that has ended.',
    remedy: 'Check the name, and that WHET_HOME or WHET_STORE points to the store of its runs.',
  },
  'Lineage.NotFound': {
    exitCode: 2,
    meaning: 'The store has no item with this id, or several.',
    remedy: 'Use one of the kinds of id that the message lists; `whet report` and `whet history` show ids.',
  },
  'Study.Failed': {
    exitCode: 1,
    meaning: 'The study failed, and its failure has no type of its own.',
    remedy: 'Read the message.',
  },
  'Worker.UnknownQueue': {
    exitCode: 2,
    meaning: '--queues names a task queue that does not exist.',
    remedy: 'Use the names that the message lists.',
  },
  'Registry.Missing': {
    exitCode: 2,
    meaning: 'The store has no version of adapters for this agent.',
    remedy: 'Let a run promote one, or point WHET_HOME or WHET_STORE to the store that has it.',
  },
  'Registry.Impossible': {
    exitCode: 2,
    meaning: 'The registry does not allow the change: for example, the version does not exist.',
    remedy: 'Read the message; `whet canary AGENT` shows which version is active.',
  },
  'Canary.Usage': {
    exitCode: 2,
    meaning: 'The flags of `whet canary` are out of range or exclude each other.',
    remedy: 'Correct the flag as the message says.',
  },
  'Gateway.Usage': {
    exitCode: 2,
    meaning: 'The arguments of `whet gateway` exclude each other.',
    remedy: 'Give either agent.yaml files, with --upstream where needed, or --config gateway.yaml.',
  },
  'Gateway.ConfigInvalid': {
    exitCode: 2,
    meaning: 'gateway.yaml, or the configuration that the flags make, has an unknown or wrong field.',
    remedy: 'Correct the field named in the message.',
  },
  'Init.Exists': {
    exitCode: 2,
    meaning: '`whet init` would write into a folder that has files, or over a file.',
    remedy: 'Choose another name, or move away what is there.',
  },
  'Env.NoFile': {
    exitCode: 2,
    meaning: 'The file of the environment does not exist.',
    remedy: 'Name a Python file with class Environment.',
  },
  'Env.NoAgent': {
    exitCode: 2,
    meaning: '`whet env check` found no agent.yaml to check the environment for.',
    remedy: 'Name it with --agent.',
  },
  'Env.Unknown': {
    exitCode: 2,
    meaning: 'The run has no environment for this capability that could be copied.',
    remedy:
      '`whet status RUN` lists its capabilities. If one waits, `whet env edit RUN CAPABILITY FILE` gives it an ' +
      'environment that you wrote.',
  },
  'Env.Exists': {
    exitCode: 2,
    meaning: '`whet env edit` would overwrite a file of this directory.',
    remedy: 'Move the file away first.',
  },
  'Env.NotWaiting': {
    exitCode: 2,
    meaning: 'The run waits, but not for an environment of this capability.',
    remedy: 'The message says what it waits for.',
  },
  'Env.NoTasks': {
    exitCode: 2,
    meaning: "The agent's process has no named tasks.",
    remedy: 'Set environment.trainSeeds and environment.heldOutSeeds in agent.yaml instead of environment.tasks.',
  },
  'Env.NoTarget': {
    exitCode: 2,
    meaning: '`whet env add` has no lock file for this target.',
    remedy:
      'The message lists those that it has. Others are environments of kind `process`, in an environment of yours.',
  },
  'Env.NotAdded': {
    exitCode: 1,
    meaning: '`whet env add` could not install the packages of the target.',
    remedy: "uv's message says why: mostly the package registry, or a full disk. Then the same command again.",
  },
  'Env.Failed': {
    exitCode: 1,
    meaning:
      '`whet env check` or `whet env run` could not finish, or `whet validate` refused the environment (exit code 2).',
    remedy: 'Read the message and what the command printed before.',
  },
} as const satisfies Record<string, CommandFailure>;
/** A type of `COMMAND_FAILURES`. */
export type CommandFailureType = keyof typeof COMMAND_FAILURES;
