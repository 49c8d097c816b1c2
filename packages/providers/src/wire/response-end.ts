import { noUsage, type Stop, type StopReason, type Usage } from '@millrace/core';

/** A provider's own words for why it stopped, each with ours. */
export type StopReasons = Readonly<Record<string, StopReason>>;

/**
 * Why a response stopped, in our words and the provider's. Calls that are there are meant, whatever
 * the word is, unless the answer was cut or refused; and `tool_use` without any is no tool use.
 */
export function stopOf(raw: string, reasons: StopReasons, hasClientCalls: boolean): Stop {
  const reason = Object.hasOwn(reasons, raw) ? (reasons[raw] ?? 'unknown') : 'unknown';
  if (reason === 'stop' && hasClientCalls) return { reason: 'tool_use', raw };
  if (reason === 'tool_use' && !hasClientCalls)
    return { reason: 'stop', raw, cause: 'no_tool_call' };
  return { reason, raw };
}

/** A rough measure that holds for English and code alike. */
const unitsPerToken = 4;

/**
 * What the provider said was used or, where it did not come to that, what it is likely to have been.
 * The length of the text that was sent is asked only then.
 */
export function completeUsage(
  reported: Usage | undefined,
  sentLength: () => number,
  writtenLength: number,
): Usage {
  if (reported !== undefined && !reported.estimated) return reported;
  const output = Math.ceil(writtenLength / unitsPerToken);
  if (reported !== undefined) return { ...reported, output: Math.max(reported.output, output) };
  const input = Math.ceil(sentLength() / unitsPerToken);
  return { ...noUsage, input, output, estimated: true };
}

/** How long a body is as JSON; 0 for what cannot be written, and so was never sent. */
export function bodyLength(body: unknown): number {
  return jsonLength(body, (value) => value);
}

/** The same without pictures and other bytes, which are no text to be counted in tokens. */
export function textLength(body: unknown): number {
  return jsonLength(body, (value) => (isBase64(value) ? '' : value));
}

function jsonLength(body: unknown, replace: (value: unknown) => unknown): number {
  try {
    return (JSON.stringify(body, (_, value) => replace(value)) ?? '').length;
  } catch {
    return 0;
  }
}

/** A word as long as this is none. */
const maxWordLength = 256;

function isBase64(value: unknown): boolean {
  if (ArrayBuffer.isView(value)) return true;
  if (typeof value !== 'string' || value.length <= maxWordLength) return false;
  return /^data:[^,\s]{0,200};base64,/.test(value) || /^[\w+/-]+={0,2}$/.test(value);
}
