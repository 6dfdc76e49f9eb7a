import type { Trajectory } from '../../contracts/artifacts/trajectory';
import { launchProgram, type LaunchProgram, type ProgramSource, type SandboxError } from '../../sandbox';
import { EnvironmentMeter } from '../budget/environment-meter';
import { MeteredEnvironment } from '../budget/metered-environment';
import { type EnvironmentSource, type OpenEnvironment, type PaidSource, payerOf } from '../environment';
import { type EpisodeParties, type EpisodePlan, runEpisode } from './episode';
import type { ModelFault } from './model-errors';
import { OpenedProgram } from './program/opened-program';
import { ProgramPlayer } from './program/program-player';
import { RestartingEnvironment } from './restarting-environment';

/** Plays episodes, many at a time. */
export interface EpisodePlayer {
  /**
   * Plays one episode. Rejects with a SandboxError, or with the error of the model.
   * @param name of this try of the episode; a repeated one has another name.
   * @param chat answers in place of the set's model. Default: that model.
   */
  play(plan: EpisodePlan, name: string, chat?: EpisodeParties['chat']): Promise<Trajectory>;
  /** A player of the same environment, whose process plays nothing else. The caller closes it. */
  apart(): EpisodePlayer;
  /** Ends everything that it started. Idempotent. */
  close(): Promise<void>;
}

/** What a player needs of a set of rollouts. */
export interface PlayerOptions extends Pick<EpisodeParties, 'chat' | 'countTokens' | 'settings' | 'toleratesFaults'> {
  openEnvironment: OpenEnvironment;
  launchProgram: LaunchProgram;
  environment: PaidSource;
  /** A name of the set of rollouts, which no other set has. */
  set: string;
  /** Called with each fault of an environment that was tolerated. */
  onFault: (plan: EpisodePlan, fault: SandboxError) => void;
  /** Called each time something other than the agent fails in an episode. */
  onTaskFailure: (failure: SandboxError) => void;
  /** Called if the model server refuses a conversation. */
  onRefusal: (refusal: ModelFault) => void;
  /** Called with a sentence about how the episodes are played. */
  onNote: (note: string) => void;
  /** Plays an episode. It is called when the episode begins, after waits for room. Default: only plays it. */
  whilePlayed?: <T>(play: () => Promise<T>) => Promise<T>;
}

/** The player of an environment. */
export function playerOf(options: PlayerOptions): EpisodePlayer {
  const { environment, launchProgram: launch, ...others } = options;
  if (environment.plays === 'program') return new ProgramPlayer({ ...others, environment, launch });
  return new EnvironmentPlayer(options);
}

/** The environment, if a program plays its episodes itself; else null. */
export const programOf = (environment: EnvironmentSource): ProgramSource | null =>
  environment.plays === 'program' ? environment : null;

/**
 * Opens every environment: programs as far as they are known before they are played, all others by `open`. What their
 * episodes spend on simulated users and judges is counted, where a run pays.
 */
export const environmentOpener =
  (open: OpenEnvironment, launch: LaunchProgram = launchProgram): OpenEnvironment =>
  async (environment) => {
    const opened = environment.plays === 'program' ? new OpenedProgram(environment, launch) : await open(environment);
    const payer = payerOf(environment);
    return payer === null ? opened : new MeteredEnvironment(opened, new EnvironmentMeter(payer, null));
  };

/** Plays episodes turn by turn in an environment that answers each turn. */
export class EnvironmentPlayer implements EpisodePlayer {
  private readonly restarting: RestartingEnvironment;

  constructor(private readonly options: Omit<PlayerOptions, 'launchProgram' | 'set' | 'onNote'>) {
    this.restarting = new RestartingEnvironment(options.openEnvironment, options.environment);
  }

  play(plan: EpisodePlan, name: string, chat = this.options.chat): Promise<Trajectory> {
    const play = () => this.playOne(plan, name, chat);
    const { whilePlayed = (playing) => playing() } = this.options;
    return whilePlayed(play);
  }

  private async playOne(plan: EpisodePlan, name: string, chat: EpisodeParties['chat']): Promise<Trajectory> {
    const environment = await this.restarting.running();
    const { tools, hasSay } = await environment.describe();
    const { settings, toleratesFaults, onFault, onTaskFailure, onRefusal } = this.options;
    const parties = { environment, tools, hasSay, settings, chat, toleratesFaults, onTaskFailure, onRefusal };
    return runEpisode(plan, { ...parties, onFault: (fault) => onFault(plan, fault) }, name);
  }

  apart(): EpisodePlayer {
    return new EnvironmentPlayer(this.options);
  }

  close(): Promise<void> {
    return this.restarting.close();
  }
}
