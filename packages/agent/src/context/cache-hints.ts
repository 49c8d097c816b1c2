import type { Item, ItemId, SessionId } from '@millrace/core';
import type { CacheHints } from '@millrace/providers';
import { AgentError } from '../contract/agent-error.ts';
import type { CacheOption, CacheSettings } from '../contract/settings.ts';

/**
 * Returns the hints for the provider's prompt cache. They mark three points of a request:
 *
 * - The end of the instructions, which are the same in all sessions of the agent.
 * - The end of the previous request. The provider has cached the prefix up to that point. Anthropic searches
 *   only the 20 blocks before a mark, so without this mark a long answer would prevent a cache hit.
 * - The end of this request, which the next request repeats.
 *
 * The points depend only on the items, so all processes compute the same points.
 */
export function cacheHints(
  items: readonly Item[],
  settings: CacheSettings,
  session: SessionId,
): CacheHints | undefined {
  if (settings === 'off') return undefined;
  const answer = items.findLastIndex(({ kind }) => kind === 'assistant');
  const points = [
    leadingInstructions(items).at(-1),
    items.slice(0, Math.max(0, answer)).findLast(isInput),
    items.slice(answer + 1).findLast(isSettledInput),
  ];
  const upTo = [...new Set(points.flatMap((item): ItemId[] => (item ? [item.id] : [])))];
  return { upTo, key: cacheKey(session), ...(settings.ttl === '1h' && { longLived: true }) };
}

function leadingInstructions(items: readonly Item[]): readonly Item[] {
  const end = items.findIndex((item) => !isInstruction(item));
  return end < 0 ? items : items.slice(0, end);
}

function isInstruction({ kind }: Item): boolean {
  return kind === 'system' || kind === 'developer';
}

function isInput({ kind }: Item): boolean {
  return kind !== 'assistant' && kind !== 'notification';
}

/**
 * Returns true if the item is an input whose encoding in requests no longer changes. An instruction after the
 * last answer may be encoded differently in later requests. The cached prefix must not end at such an item.
 */
function isSettledInput(item: Item): boolean {
  return isInput(item) && !isInstruction(item);
}

/**
 * Returns the prompt cache key of a session. Providers route requests with the same key to the same cache.
 * The key is a hash (FNV-1a, 64 bits), because a session id can contain a name. A session id can also be
 * longer than the 64 characters that OpenAI accepts.
 */
function cacheKey(session: SessionId): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(session))
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return `millrace-${hash.toString(16).padStart(16, '0')}`;
}

/** Converts the `cache` option of an agent to settings. Throws for unknown values. */
export function readCacheOption(option: CacheOption | undefined): CacheSettings {
  if (option === undefined || option === 'auto') return { ttl: '5m' };
  if (option === 'off') return option;
  const { ttl, ...unknown } = Object(option) as { readonly ttl?: unknown };
  const isKnown = (ttl === '5m' || ttl === '1h') && Object.keys(unknown).length === 0;
  if (isKnown) return { ttl };
  const message = `Cannot use ${JSON.stringify(option)} as cache. Use 'auto', 'off' or { ttl: '5m' | '1h' }`;
  throw new AgentError('bad_option', message);
}
