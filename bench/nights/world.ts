/** The simulated year: what its tasks call for, what changes on which day, and how likely each task is passed. */
import { createHash } from 'node:crypto';

/** What tasks can call for; `plain` tasks call for nothing in particular. */
export const SKILLS = ['refunds', 'addresses', 'bulk-orders', 'vouchers'] as const;
export type Skill = (typeof SKILLS)[number];
export type Kind = Skill | 'plain';

/** What changes. Between two events the world stands still. */
export const EVENTS = [
  { day: 1, name: 'start', what: 'base lacks refunds and addresses' },
  { day: 40, name: 'drift', what: 'bulk orders grow from nothing to a quarter of the tasks in 20 days' },
  { day: 90, name: 'regression', what: 'an interface changes: the adapters do harm' },
  { day: 130, name: 'new tool', what: 'a tool for vouchers, and tasks that call for it' },
  { day: 170, name: 'quiet', what: 'nothing changes for three months' },
  { day: 262, name: 'base model', what: 'another base model, which can do addresses by itself' },
  { day: 320, name: 'small loss', what: 'vouchers become harder for the adapter, by little' },
  { day: 335, name: 'harm', what: 'base can do bulk orders by itself, and their adapter does harm' },
] as const;
export type EventName = (typeof EVENTS)[number]['name'];

/** The event whose time a day lies in. */
export const eventOf = (day: number): EventName => EVENTS.findLast((event) => event.day <= day)!.name;

/** First day of an event. */
const dayOf = (name: EventName): number => EVENTS.find((event) => event.name === name)!.day;

/** A uniform number that depends on its parts alone. */
export function chance(...parts: readonly (string | number)[]): number {
  return createHash('sha256').update(parts.join('\n')).digest().readUInt32BE(0) / 2 ** 32;
}

/** Name of the tool that comes with vouchers. */
const VOUCHER_TOOL = 'redeem_voucher';

/** An adapter, as its trainer leaves it. */
export interface Habit {
  skill: Skill;
  /** The interface that it was trained for, by its number. */
  interface: number;
  /** A training can fail to learn. */
  learned: boolean;
}

const LACKING = 0.15;
const ABLE = 0.88;
const SHARPENED = 0.92;
/** What an adapter costs on tasks that do not call for it. */
const ELSEWHERE = 0.12;
/** What the adapter for bulk orders passes once it does harm, however it is trained. */
const HARMED = 0.4;
/** How far tasks of one kind differ. */
const SPREAD = 0.2;
const SHARE = { refunds: 0.2, addresses: 0.15, 'bulk-orders': 0.25, vouchers: 0.2 } as const;

/** The world on one day. */
export class World {
  constructor(readonly day: number) {}

  /**
   * Number of the list of tools: another list makes other environments. A number stands for the same list on all days.
   */
  get interface(): number {
    if (this.hasVouchers) return 3;
    return this.day >= dayOf('regression') ? 2 : 1;
  }

  /** Names of the agent's tools. The first one is called in another way from the regression on. */
  get tools(): string[] {
    return toolsOf(this.interface);
  }

  get hasVouchers(): boolean {
    return this.day >= dayOf('new tool');
  }

  get baseModel(): 'first' | 'second' {
    return this.day >= dayOf('base model') ? 'second' : 'first';
  }

  /** Share of the tasks that call for a skill. */
  share(skill: Skill): number {
    if (skill === 'vouchers') return this.hasVouchers ? SHARE.vouchers : 0;
    if (skill !== 'bulk-orders') return SHARE[skill];
    return SHARE['bulk-orders'] * Math.min(1, Math.max(0, (this.day - dayOf('drift') + 1) / 20));
  }

  /** What a task calls for: plain tasks turn into others as these grow. */
  kindOf(seed: number): Kind {
    let place = chance('kind', seed);
    for (const skill of SKILLS) {
      if (place < SHARE[skill]) return place < this.share(skill) ? skill : 'plain';
      place -= SHARE[skill];
    }
    return 'plain';
  }

  /** Chance that a task is passed by base (null) or an adapter. */
  passes(seed: number, habit: Habit | null): number {
    const mean = this.mean(this.kindOf(seed), habit);
    return Math.min(0.98, Math.max(0.02, mean + SPREAD * (chance('task', seed) - 0.5)));
  }

  /** Whether base can do it by itself. */
  private isAble(skill: Skill): boolean {
    if (skill === 'bulk-orders') return this.day >= dayOf('harm');
    return skill === 'addresses' && this.baseModel === 'second';
  }

  /** Days since its adapter began to do harm; negative before. */
  get daysOfHarm(): number {
    return this.day - dayOf('harm');
  }

  /** The same, on average over tasks of a kind. */
  mean(kind: Kind, habit: Habit | null): number {
    const alone = kind === 'plain' || this.isAble(kind) ? ABLE : LACKING;
    if (habit === null || !habit.learned) return alone;
    if (habit.skill !== kind) return Math.max(0.05, alone - ELSEWHERE);
    // A tool more does no harm to an adapter that never calls it; one that has changed does.
    if (toolsOf(habit.interface)[0] !== this.tools[0]) return LACKING / 2;
    if (kind === 'bulk-orders' && this.isAble(kind)) return HARMED;
    return kind === 'vouchers' && this.day >= dayOf('small loss') ? SHARPENED - 0.15 : SHARPENED;
  }
}

/** The tools behind an interface's number. */
const toolsOf = (number: number): string[] => [
  number === 1 ? 'desk_v1' : 'desk_v2',
  ...(number === 3 ? [VOUCHER_TOOL] : []),
];
