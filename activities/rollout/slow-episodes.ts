import { pluralise } from '../../contracts/pluralise';

/** After this many milliseconds an episode counts as slow. */
const SLOW_MS = 300_000;

/** Counts episodes that take long, so that people see why a set of rollouts seems to stand still. */
export class SlowEpisodes {
  private count = 0;

  /**
   * @param endsAfter seconds after which an episode is ended; undefined: no such limit is set for it.
   * @param onChange called when `text` has changed.
   * @param slowMs default: five minutes.
   */
  constructor(
    private readonly endsAfter: number | undefined,
    private readonly onChange: () => void,
    private readonly slowMs = SLOW_MS,
  ) {}

  /** Counts an episode while it is slow. Settles as `play` does. */
  async watch<T>(play: () => Promise<T>): Promise<T> {
    let isSlow = false;
    const timer = setTimeout(() => {
      isSlow = true;
      this.add(1);
    }, this.slowMs).unref();
    try {
      return await play();
    } finally {
      clearTimeout(timer);
      if (isSlow) this.add(-1);
    }
  }

  /** `10 episodes have taken more than 5 minutes so far`, and what ends them; undefined: none is slow. */
  get text(): string | undefined {
    if (this.count === 0) return undefined;
    const [noun, have] = this.count === 1 ? ['episode', 'has'] : ['episodes', 'have'];
    const end =
      this.endsAfter === undefined
        ? ''
        : `, and one fails after ${this.endsAfter} s without waits for the model (environment.seconds.episode)`;
    const minutes = pluralise(Math.round(this.slowMs / 60_000), 'minute');
    return `${this.count} ${noun} ${have} taken more than ${minutes} so far${end}`;
  }

  private add(more: number): void {
    this.count += more;
    this.onChange();
  }
}
