import type { ProviderErrorKind } from './provider-error.ts';
import { tellingTexts } from './telling-texts.ts';
import type { Complaint } from './wire-fault.ts';

type Row = readonly [kind: ProviderErrorKind, form: RegExp];

/** Told by these words where the status says nothing, as inside of a stream. */
const byWord: readonly Row[] = [
  ['rate_limit', /rate.?limit|resource_exhausted|throttling|too.?many.?requests/i],
  ['overloaded', /overloaded|unavailable|insufficient_system_resource|capacity|slow_?down/i],
  ['auth', /authentication|unauthenticated|unauthorized|invalid.{0,3}(?:x-)?api.?key/i],
  ['permission', /permission|forbidden/i],
  ['invalid_request', /invalid_?request|invalid_argument|validation|not_found|bad_request/i],
  ['timeout', /timed? ?out|deadline_exceeded/i],
];

const byStatus: ReadonlyMap<number, ProviderErrorKind> = new Map([
  [400, 'invalid_request'],
  [401, 'auth'],
  [402, 'quota'],
  [403, 'permission'],
  [404, 'invalid_request'],
  [405, 'invalid_request'],
  [408, 'server'],
  [409, 'server'],
  [413, 'context_overflow'],
  [422, 'invalid_request'],
  [424, 'server'],
  [429, 'rate_limit'],
  // Groq: no room for requests of the flexible tier.
  [498, 'overloaded'],
  [503, 'overloaded'],
  [529, 'overloaded'],
]);

/** What kind of failure a complaint is about, by its words first where they are more exact than the status. */
export function kindOf({ message, words, status }: Complaint): ProviderErrorKind {
  const said = [...words, message].join('\n');
  const told = tellingTexts.find(
    ({ statuses, forms }) => statuses.includes(status) && forms.some((form) => form.test(said)),
  );
  if (told !== undefined) return told.kind;
  if (status !== undefined && status >= 400) return kindOfStatus(status);
  return findRow(words.join('\n')) ?? findRow(message) ?? 'server';
}

/** A request shorter than this, in characters of its body, fits any model. */
const minOverflowLength = 32_000;

/** Cerebras answers to a request that is too long with a 400 and no body. */
export function kindOfEmpty(status: number, sentLength: () => number): ProviderErrorKind {
  if (status !== 400 && status !== 413) return kindOfStatus(status);
  return sentLength() > minOverflowLength ? 'context_overflow' : 'invalid_request';
}

function kindOfStatus(status: number): ProviderErrorKind {
  return byStatus.get(status) ?? (status >= 500 ? 'server' : 'invalid_request');
}

function findRow(said: string): ProviderErrorKind | undefined {
  return byWord.find(([, form]) => form.test(said))?.[0];
}
