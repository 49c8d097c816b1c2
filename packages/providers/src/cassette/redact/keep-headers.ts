import type { Redactor } from './redactor.ts';

/** What a reader of a stream or a retry may need. Keys, cookies and accounts are none of it. */
const kept: readonly RegExp[] = [
  /^(?:accept|content-type|date)$/,
  /^retry-after(?:-ms)?$/,
  /^x-should-retry$/,
  /^(?:[a-z]+-)*ratelimit-[a-z0-9-]+$/,
  /^(?:[a-z]+-)*request-?id$/,
  /^anthropic-(?:version|beta)$/,
  /^openai-(?:version|beta|processing-ms|model)$/,
];

/** Does a recording keep a header of this name? All others are dropped, whatever they are. */
export function isKeptHeader(name: string): boolean {
  return kept.some((form) => form.test(name));
}

export function keepHeaders(
  headers: Headers,
  redactor: Redactor,
): Readonly<Record<string, string>> {
  const entries = [...headers].filter(([name]) => isKeptHeader(name));
  return Object.fromEntries(entries.map(([name, value]) => [name, redactor.text(value)]));
}
