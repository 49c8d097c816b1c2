import type { Item, ItemId, SessionId } from '@millrace/core';
import type { CacheHints } from '@millrace/providers';
import { AgentError } from '../contract/agent-error.ts';
import type { CacheOption, CacheSettings } from '../contract/settings.ts';

/**
 * The hints for the prompt cache of a request. They mark three points:
 *
 * - The end of the instructions, which other sessions of the agent share.
 * - The end of the previous request. The provider has stored the prefix up to there. An exact mark
 *   finds it however much the last answer and its results have added; Anthropic searches only 20
 *   blocks before a mark.
 * - The end of this request, which the next request repeats.
 *
 * The points depend only on the items, so that any process computes the same ones.
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

/** An instruction after the last answer can still be sent in another form, so it is no point yet. */
function isSettledInput(item: Item): boolean {
  return isInput(item) && !isInstruction(item);
}

/**
 * Requests with the same key reach the same cache. A hash, because a session's id can contain a name
 * and can be longer than the 64 characters that OpenAI accepts. FNV-1a, 64 bits.
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
