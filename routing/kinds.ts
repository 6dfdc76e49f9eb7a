/** The kinds of routers: the only place that lists all of them. */
import { z } from 'zod';
import { ROUTER_KINDS, type RouterKind } from '../contracts/config/router-kinds';
import { MIXED } from '../contracts/names';
import type { Choose, FitData, Kind } from './kind';
import { base } from './kinds/base';
import { labels } from './kinds/labels';
import { logits } from './kinds/logits';
import { mixed } from './kinds/mixed';
import { outcomesMixed } from './kinds/outcomes-mixed';
import { single } from './kinds/single';

/** There is one entry for each of `ROUTER_KINDS`; the compiler reports a missing one. */
export const KINDS = { base, single, mixed, labels, logits, 'outcomes-mixed': outcomesMixed } satisfies {
  [K in RouterKind]: { schema: z.ZodType<{ kind: K; leftOut: string[] }> };
};

/** `router.json`: which adapter, or base, gets a conversation. It is judged and served exactly as stored here. */
export type Router = { [K in RouterKind]: z.infer<(typeof KINDS)[K]['schema']> }[RouterKind];

/** Reads `router.json`. */
export const routerSchema = z.union(ROUTER_KINDS.map((kind): z.ZodType<Router> => KINDS[kind].schema));

/** The entry of a router's own kind. The compiler does not see that the two belong together. */
const kindOf = ({ kind }: Router): Kind<Router> => KINDS[kind];

/** Fits a router of this kind. */
export const fitRouter = (kind: RouterKind, data: FitData): Promise<Router> => KINDS[kind].fit(data);

/** The function that chooses an arm for each opening. It does not yet leave out any adapter. */
export const chooserOf = (router: Router): Choose => kindOf(router).open(router);

/** The menu for the base model, whose answer the router needs; null for a router that asks no model. */
export const menuOf = (router: Router): readonly { id: string; summary: string }[] | null =>
  kindOf(router).menu?.(router) ?? null;

type WithLaterTurns<R> = R extends unknown ? ('laterTurns' extends keyof R ? R : never) : never;
/** A router that chooses between arms. Later messages, or several needs, may override its choice. */
export type ChoosingRouter = WithLaterTurns<Router>;

/** Whether a router chooses between arms. */
export const choosesArms = (router: Router): router is ChoosingRouter => KINDS[router.kind].choosesArms;

/** The capabilities (or `mixed`) whose adapters a router may use, at an opening or later; sorted. */
export function neededAdapters(router: Router): string[] {
  const followed = 'toolNeeds' in router ? (router.toolNeeds?.needs ?? []) : [];
  const later = [...followed, ...(choosesArms(router) ? (router.laterTurns?.needs ?? []) : [])].map(
    ({ capabilityId }) => capabilityId,
  );
  const own = [...kindOf(router).arms(router), ...later].filter((id) => !router.leftOut.includes(id));
  const several = choosesArms(router) && router.severalNeeds ? [MIXED] : [];
  return [...new Set([...own, ...several])].sort();
}
