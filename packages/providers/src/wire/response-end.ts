import { noUsage, type Stop, type StopReason, type Usage } from '@millrace/core';

/** Maps a provider's stop reasons to those of Millrace. */
export type StopReasons = Readonly<Record<string, StopReason>>;

/**
 * Returns the stop reason, with the provider's own value as `raw`. If there are calls, `stop` becomes
 * `tool_use`. If there are no calls, `tool_use` becomes `stop`. All other reasons stay unchanged, for example
 * the reasons for a cut or refused answer.
 */
export function stopOf(raw: string, reasons: StopReasons, hasClientCalls: boolean): Stop {
  const reason = Object.hasOwn(reasons, raw) ? (reasons[raw] ?? 'unknown') : 'unknown';
  if (reason === 'stop' && hasClientCalls) return { reason: 'tool_use', raw };
  if (reason === 'tool_use' && !hasClientCalls)
    return { reason: 'stop', raw, cause: 'no_tool_call' };
  return { reason, raw };
}

/** The number of UTF-16 units per token. It is a rough average for English text and for code. */
const unitsPerToken = 4;

/**
 * Returns the reported usage. If the usage is missing, incomplete or all zero, returns an estimate.
 * `sentLength` is called only for an estimate.
 */
export function completeUsage(
  reported: Usage | undefined,
  sentLength: () => number,
  writtenLength: number,
): Usage {
  const isEmpty = reported?.input === 0 && reported.output === 0;
  if (reported !== undefined && !reported.estimated && !isEmpty) return reported;
  const output = Math.ceil(writtenLength / unitsPerToken);
  if (reported !== undefined && !isEmpty)
    return { ...reported, output: Math.max(reported.output, output) };
  const input = Math.ceil(sentLength() / unitsPerToken);
  return { ...noUsage, input, output, estimated: true };
}

/**
 * Returns the length of a body as JSON. Returns 0 if the body cannot be converted to JSON, because such a
 * body was never sent.
 */
export function bodyLength(body: unknown): number {
  return jsonLength(body, (value) => value);
}

/**
 * Returns the length of a body as JSON, without images and other binary data. Binary data does not count as
 * text tokens.
 */
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

/** A longer string without spaces counts as binary data. */
const maxWordLength = 256;

function isBase64(value: unknown): boolean {
  if (ArrayBuffer.isView(value)) return true;
  if (typeof value !== 'string' || value.length <= maxWordLength) return false;
  return /^data:[^,\s]{0,200};base64,/.test(value) || /^[\w+/-]+={0,2}$/.test(value);
}
