/** How long the headers ask to wait, in milliseconds. */
export function delayFromHeaders(headers: Headers, nowMs: number): number | undefined {
  return (
    delayFromMilliseconds(headers.get('retry-after-ms')) ??
    delayFromRetryAfter(headers.get('retry-after'), nowMs)
  );
}

/** When the limit of requests is over. Many servers say so with every answer, so it is no request to wait. */
export function delayUntilReset(headers: Headers, nowMs: number): number | undefined {
  return (
    delayFromDuration(headers.get('x-ratelimit-reset-after')) ??
    delayUntilResetTime(headers.get('x-ratelimit-reset'), nowMs)
  );
}

const durationPattern = String.raw`\d+(?:\.\d+)?\s*(?:d|h|ms?|s)[a-z]*\s*`;
const delayPhrase = new RegExp(
  String.raw`\b(?:(?:retry|try again|resets?)\s+(?:in|after)|wait(?:\s+for)?)\s+((?:${durationPattern}){1,4})`,
  'i',
);

/** The same of an error's text: Gemini says it in a field, others in words. */
export function delayFromText(text: string): number | undefined {
  // Quotes are escaped where one provider quotes another.
  const field = /"retryDelay\\*"\s*:\s*\\*"([^"\\]{1,40})/.exec(text)?.[1];
  return delayFromDuration(field) ?? delayFromDuration(delayPhrase.exec(text)?.[1]);
}

function delayFromMilliseconds(text: string | null): number | undefined {
  const ms = plainNumber(text);
  return ms === undefined ? undefined : roundedDelay(ms);
}

function plainNumber(text: string | null): number | undefined {
  return text !== null && /^\d+(?:\.\d+)?$/.test(text.trim()) ? Number(text) : undefined;
}

/** Seconds, or the date of the next try. */
function delayFromRetryAfter(text: string | null, nowMs: number): number | undefined {
  if (text === null) return undefined;
  const seconds = plainNumber(text);
  if (seconds !== undefined) return roundedDelay(seconds * 1000);
  // Date.parse takes many a text for a date; what has no year is none.
  const date = /\b\d{4}\b/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? delayFromDuration(text) : roundedDelay(Math.max(0, date - nowMs));
}

/** A moment as seconds or milliseconds since 1970, or else a span like `6m0s`. */
function delayUntilResetTime(text: string | null, nowMs: number): number | undefined {
  const moment = plainNumber(text);
  if (moment === undefined || moment < 1e9) return delayFromDuration(text);
  return roundedDelay(Math.max(0, (moment < 1e11 ? moment * 1000 : moment) - nowMs));
}

/** So that no delay overflows a timer. */
const maxDelayMs = 2 ** 31 - 1;

const unitMs: Readonly<Record<string, number>> = {
  d: 86_400_000,
  h: 3_600_000,
  m: 60_000,
  s: 1000,
  ms: 1,
};

/** `34.07s`, `18h31m10s`, `250ms`, `5 seconds`, `2 minutes`, or a plain number of seconds. */
function delayFromDuration(text: string | null | undefined): number | undefined {
  const trimmed = (text ?? '').trim().toLowerCase();
  if (/^\d+(?:\.\d+)?$/.test(trimmed)) return roundedDelay(Number(trimmed) * 1000);
  const spans = [...trimmed.matchAll(/(\d+(?:\.\d+)?)\s*(milli|ms|d|h|m|s)/g)];
  if (spans.length === 0) return undefined;
  return roundedDelay(
    spans.reduce((sum, [, count, unit]) => sum + Number(count) * unitToMs(unit), 0),
  );
}

function unitToMs(unit = 's'): number {
  return unitMs[unit === 'milli' ? 'ms' : unit] ?? 0;
}

function roundedDelay(ms: number): number {
  return Math.min(Math.ceil(ms), maxDelayMs);
}
