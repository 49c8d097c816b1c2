/** Returns the delay that the headers request, in milliseconds, or undefined. */
export function delayFromHeaders(headers: Headers, nowMs: number): number | undefined {
  return (
    delayFromMilliseconds(headers.get('retry-after-ms')) ??
    delayFromRetryAfter(headers.get('retry-after'), nowMs)
  );
}

/**
 * Returns the time until the rate limit resets, in milliseconds. Many servers send this header with every
 * answer, so the header alone does not mean that the client must wait.
 */
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

/**
 * Returns the delay that an error text requests, in milliseconds. Gemini sends it in a field, and other
 * providers in a sentence.
 */
export function delayFromText(text: string): number | undefined {
  // The quotes are escaped if one provider quotes the error of a different provider.
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

/** Reads the header `retry-after`. It contains a number of seconds, or the date of the next attempt. */
function delayFromRetryAfter(text: string | null, nowMs: number): number | undefined {
  if (text === null) return undefined;
  const seconds = plainNumber(text);
  if (seconds !== undefined) return roundedDelay(seconds * 1000);
  // `Date.parse` accepts many texts that are not dates, so the text must contain a year.
  const date = /\b\d{4}\b/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? delayFromDuration(text) : roundedDelay(Math.max(0, date - nowMs));
}

/**
 * Reads the time at which a limit resets: seconds or milliseconds since 1970, or a duration such as `6m0s`.
 */
function delayUntilResetTime(text: string | null, nowMs: number): number | undefined {
  const moment = plainNumber(text);
  if (moment === undefined || moment < 1e9) return delayFromDuration(text);
  return roundedDelay(Math.max(0, (moment < 1e11 ? moment * 1000 : moment) - nowMs));
}

/** The longest delay that a timer supports, in milliseconds. */
const maxDelayMs = 2 ** 31 - 1;

const unitMs: Readonly<Record<string, number>> = {
  d: 86_400_000,
  h: 3_600_000,
  m: 60_000,
  s: 1000,
  ms: 1,
};

/** Maximum length of a duration. The rest of a longer text is not read. */
const maxDurationLength = 200;

/**
 * Reads a duration such as `34.07s`, `18h31m10s`, `250ms`, `5 seconds`, `2 minutes`, or a plain
 * number of seconds. Returns milliseconds.
 */
function delayFromDuration(text: string | null | undefined): number | undefined {
  const trimmed = (text ?? '').slice(0, maxDurationLength).trim().toLowerCase();
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
