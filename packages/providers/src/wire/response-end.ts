import { noUsage, type Stop, type StopReason, type Usage } from '@millrace/core';

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

/** A rough measure that holds for English and code alike. */
const unitsPerToken = 4;

/**
 * What the provider said was used or, where it did not come to that, what it is likely to have been.
 * The length of the text that was sent is asked only then.
 */
export function completeUsage(
  said: Usage | undefined,
  sentLength: () => number,
  writtenLength: number,
): Usage {
  if (said !== undefined && !said.estimated) return said;
  const output = Math.ceil(writtenLength / unitsPerToken);
  if (said !== undefined) return { ...said, output: Math.max(said.output, output) };
  const input = Math.ceil(sentLength() / unitsPerToken);
  return { ...noUsage, input, output, estimated: true };
}

/** How long a body is as JSON; 0 for what cannot be written, and so was never sent. */
export function bodyLength(body: unknown): number {
  return lengthOf(body, (value) => value);
}

/** The same without pictures and other bytes, which are no text to be counted in tokens. */
export function textLength(body: unknown): number {
  return lengthOf(body, (value) => (isBytes(value) ? '' : value));
}

function lengthOf(body: unknown, replace: (value: unknown) => unknown): number {
  try {
    return (JSON.stringify(body, (_, value) => replace(value)) ?? '').length;
  } catch {
    return 0;
  }
}

/** A word as long as this is none. */
const maxWordLength = 256;

function isBytes(value: unknown): boolean {
  if (ArrayBuffer.isView(value)) return true;
  if (typeof value !== 'string' || value.length <= maxWordLength) return false;
  return /^data:[^,\s]{0,200};base64,/.test(value) || /^[\w+/-]+={0,2}$/.test(value);
}
