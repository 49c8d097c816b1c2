import type { Item, ItemId, SessionId } from '@millrace/core';
import type { CacheHints } from '@millrace/providers';
import { AgentError } from '../contract/agent-error.ts';
import type { CacheOption, CacheSettings } from '../contract/settings.ts';

/**
 * Returns the hints for the provider's prompt cache. They mark three points of a request:
 *
 * - The end of the instructions, which other sessions of the agent share.
 * - The end of the previous request. The provider has stored the prefix up to that point. Without this
 *   mark a long answer could hide the prefix, because Anthropic searches only the 20 blocks before a
 *   mark.
 * - The end of this request, which the next request repeats.
 *
 * The points depend only on the items, so any process computes the same points.
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
 * True if the item is an input whose form is final. An instruction after the last answer can still be
 * sent in another form, so the cache must not end there.
 */
function isSettledInput(item: Item): boolean {
  return isInput(item) && !isInstruction(item);
}

/**
 * Returns the cache key of a session, because requests with the same key reach the same cache. The key is
 * a hash (FNV-1a, 64 bits). A session id can contain a name, and can be longer than the 64 characters
 * that OpenAI accepts.
 */
function cacheKey(session: SessionId): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(session))
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return `millrace-${hash.toString(16).padStart(16, '0')}`;
}

/** Reads the `cache` option of an agent. Throws for unknown values. */
export function readCacheOption(option: CacheOption | undefined): CacheSettings {
  if (option === undefined || option === 'auto') return { ttl: '5m' };
  if (option === 'off') return option;
  const { ttl, ...unknown } = Object(option) as { readonly ttl?: unknown };
  const isKnown = (ttl === '5m' || ttl === '1h') && Object.keys(unknown).length === 0;
  if (isKnown) return { ttl };
  const message = `Cannot use ${JSON.stringify(option)} as cache. Use 'auto', 'off' or { ttl: '5m' | '1h' }`;
  throw new AgentError('bad_option', message);
}
