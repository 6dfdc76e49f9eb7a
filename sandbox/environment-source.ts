/** A Python class without input and output, which this project's runtime loads. */
export interface ModuleSource {
  plays?: 'module';
  /** The module's source, at most about 1 MB. */
  source: string;
  /**
   * `synthesised`: written by an LLM, so it runs in the jail. `owner`: the user's own, so it runs in a jail with
   * network access.
   */
  trust: 'synthesised' | 'owner';
  /** Used in messages. For `owner` it is the path of the module, whose folder is readable in the jail. */
  name: string;
  /** The owner's agent, which WHET_UNJAILED_ENVIRONMENTS may name. */
  agent?: string;
  /** Seconds by which the module's clock is ahead, for checks of whether it reads one. Default: 0. */
  laterBySeconds?: number;
}

/** A command of the agent's owner, and all that it sees of the machine besides the system's programs. */
interface CommandLaunch {
  command: readonly string[];
  /** The folder in which the command starts, and which it may read: that of the agent.yaml. */
  agentFolder: string;
  /** Further folders that it may read: absolute paths. */
  folders: readonly string[];
  /** Names of variables of this process that it gets. */
  secrets: readonly string[];
  variables: Readonly<Record<string, string>>;
}

/** How a process that plays many episodes is started. */
interface ProcessLaunch extends CommandLaunch {
  /** Number of processes that share the episodes. */
  processes: number;
  /** Most episodes at a time in one of them. */
  episodesPerProcess: number;
  /** Deadlines in seconds. */
  seconds: { start: number; step: number; episode: number; judge: number };
}

/** How a program that plays one episode is started. */
interface ProgramLaunch extends CommandLaunch {
  /** The command that prints the result of an episode; null: the program itself says it. */
  score: readonly string[] | null;
  /** Memory of one episode in MiB. Control groups limit it; without them, and without a jail, nothing does. */
  memoryPerEpisode: number;
  /** Deadlines in seconds. */
  seconds: { episode: number; score: number };
}

/** A command of the agent's owner. */
export interface OwnersCommand {
  trust: 'owner';
  /** The agent.yaml, for messages. */
  name: string;
  agent: string;
  /**
   * Of a command that this project makes of other fields: the one that leads to its program, and a sentence that says
   * how to make that. Absent: the command is in agent.yaml.
   */
  programFrom?: { field: string; remedy: string };
  launch: CommandLaunch & Partial<Pick<ProgramLaunch, 'memoryPerEpisode'>>;
}

interface PlayingCommand extends OwnersCommand {
  /** Ids of named tasks; the place of an id is its seed. Absent: tasks have seeds alone. */
  tasks?: readonly string[];
}

/** A command that speaks the environment protocol, version 2. */
export interface ProcessSource extends PlayingCommand {
  plays: 'process';
  launch: ProcessLaunch;
  /** What the process said about its packages when the run began. Absent: it may say anything. */
  packages?: string;
}

/** A command for each episode. */
export interface ProgramSource extends PlayingCommand {
  plays: 'program';
  /** The seed of the first task to learn from. */
  firstSeed: number;
  launch: ProgramLaunch;
}

/** What plays episodes, who wrote it, and its name in messages. */
export type EnvironmentSource = ModuleSource | ProcessSource | ProgramSource;
