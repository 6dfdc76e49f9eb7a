/** Kinds of routers, the simplest first. `routing/kinds.ts` has what each of them does. */
export const ROUTER_KINDS = ['base', 'single', 'mixed', 'labels', 'logits', 'outcomes-mixed'] as const;
/** One of `ROUTER_KINDS`. */
export type RouterKind = (typeof ROUTER_KINDS)[number];
