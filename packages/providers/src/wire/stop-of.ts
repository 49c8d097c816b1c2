import type { Stop, StopReason } from '@millrace/core';

/** A provider's own words for why it stopped, each with ours. */
export type StopWords = Readonly<Record<string, StopReason>>;

/**
 * Why a response stopped, in our words and the provider's. Calls that are there are meant, whatever
 * the word is, unless the answer was cut or refused; and `tool_use` without any is no tool use.
 */
export function stopOf(raw: string, words: StopWords, hasClientCalls: boolean): Stop {
  const said = Object.hasOwn(words, raw) ? (words[raw] ?? 'unknown') : 'unknown';
  if (said === 'stop' && hasClientCalls) return { reason: 'tool_use', raw };
  if (said === 'tool_use' && !hasClientCalls) return { reason: 'stop', raw, cause: 'no_tool_call' };
  return { reason: said, raw };
}
