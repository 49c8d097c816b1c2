import type { Item } from '../protocol/item.ts';
import { addUsage, noUsage, type Usage } from '../protocol/usage.ts';
import {
  type AttemptUsage,
  type FoldState,
  findOpen,
  type ItemState,
  type PartSlot,
  usageKey,
} from './fold-state.ts';
import { livePart } from './open-part.ts';
import { toArray } from './sequence.ts';

/**
 * Returns the items in order with their committed parts. Requests to a model are built from this
 * list.
 */
export function transcript(state: FoldState): readonly Item[] {
  return toArray(state.items).map(toItem);
}

/**
 * Returns the items in order, including the current content of streaming parts. A user interface
 * shows this list.
 */
export function liveTranscript(state: FoldState): readonly Item[] {
  return toArray(state.items).map((item) => toLiveItem(state, item));
}

/** Returns the sum of the usage of all attempts, including superseded attempts and attempts of sub-agents. */
export function totalUsage(state: Pick<FoldState, 'usage'>): Usage {
  return lastReports(state).reduce((sum, { usage }) => addUsage(sum, usage), noUsage);
}

/** The usage of one agent. */
export interface AgentUsage {
  /** The name of the sub-agent. Undefined for the agents of the session itself. */
  readonly agent: string | undefined;
  /** The number of attempts at model requests. */
  readonly attempts: number;
  readonly usage: Usage;
}

/**
 * Returns the usage by agent. The first entry is the session's own usage, and the other entries are the
 * sub-agents.
 */
export function usageByAgent(state: Pick<FoldState, 'usage'>): readonly AgentUsage[] {
  const own: AgentUsage = { agent: undefined, attempts: 0, usage: noUsage };
  const byAgent = new Map<string | undefined, AgentUsage>([[undefined, own]]);
  for (const { usage, of } of lastReports(state)) {
    const agent = of?.agent;
    const before = byAgent.get(agent) ?? { ...own, agent };
    const attempts = before.attempts + 1;
    byAgent.set(agent, { agent, attempts, usage: addUsage(before.usage, usage) });
  }
  return [...byAgent.values()];
}

function lastReports(state: Pick<FoldState, 'usage'>): readonly AttemptUsage[] {
  return [...new Map(toArray(state.usage).map((one) => [usageKey(one), one])).values()];
}

// Caches the item of each state, so that an unchanged item is always the same object. A user interface can
// then skip unchanged items.
const items = new WeakMap<ItemState, Item>();

/** Returns an item with its committed parts. The same state always gives the same object. */
export function toItem(state: ItemState): Item {
  const known = items.get(state);
  if (known !== undefined) return known;
  const item = withParts(
    state,
    state.parts.map(({ part }) => part),
  );
  items.set(state, item);
  return item;
}

function toLiveItem(state: FoldState, item: ItemState): Item {
  if (item.parts.every(({ part }) => part !== undefined)) return toItem(item);
  const shown = ({ id, part }: PartSlot) => {
    const open = part === undefined ? findOpen(state, id) : undefined;
    return open === undefined ? part : livePart(open);
  };
  return withParts(item, item.parts.map(shown));
}

function withParts(state: ItemState, parts: readonly (Item['parts'][number] | undefined)[]): Item {
  const { id, kind, author, stop, metadata, redacted } = state;
  return {
    id,
    kind,
    ...(author && { author }),
    parts: parts.filter((part) => part !== undefined),
    ...(stop && { stop }),
    ...(redacted && { redacted }),
    ...(metadata && { metadata }),
  };
}
