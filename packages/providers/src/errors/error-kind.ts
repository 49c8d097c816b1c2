import type { ProviderErrorKind } from '../contract/provider-error.ts';
import type { ErrorReport } from './wire-fault.ts';

type KindPattern = readonly [kind: ProviderErrorKind, pattern: RegExp];

/** Patterns for errors without a status, for example errors inside a stream. */
const kindPatterns: readonly KindPattern[] = [
  ['rate_limit', /rate.?limit|resource_exhausted|throttling|too.?many.?requests/i],
  ['overloaded', /overloaded|unavailable|insufficient_system_resource|capacity|slow_?down/i],
  ['auth', /authentication|unauthenticated|unauthorized|invalid.{0,3}(?:x-)?api.?key/i],
  ['permission', /permission|forbidden/i],
  ['invalid_request', /invalid_?request|invalid_argument|validation|not_found|bad_request/i],
  ['timeout', /timed? ?out|deadline_exceeded/i],
];

const kindByStatus: ReadonlyMap<number, ProviderErrorKind> = new Map([
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
  // Groq sends the status 498 if it has no capacity for requests of its flexible tier.
  [498, 'overloaded'],
  [503, 'overloaded'],
  [529, 'overloaded'],
]);

/**
 * Returns the kind of failure that an error report describes. It checks codes and messages first, because
 * they are more precise than the status.
 */
export function errorKindOf({ message, codes, status }: ErrorReport): ProviderErrorKind {
  const text = [...codes, message].join('\n');
  const match = messagePatterns.find(
    ({ statuses, patterns }) =>
      statuses.includes(status) && patterns.some((pattern) => pattern.test(text)),
  );
  if (match !== undefined) return match.kind;
  if (status !== undefined && status >= 400) return kindOfStatus(status);
  return findKind(codes.join('\n')) ?? findKind(message) ?? 'server';
}

/**
 * Every model accepts a request body of up to this many characters. A shorter request therefore cannot exceed
 * the context.
 */
const minOverflowLength = 32_000;

/**
 * Returns the kind of an error response without a body. For example, if a request is too long, Cerebras
 * responds with the status 400 and no body.
 */
export function errorKindOfEmptyBody(status: number, sentLength: () => number): ProviderErrorKind {
  if (status !== 400 && status !== 413) return kindOfStatus(status);
  return sentLength() > minOverflowLength ? 'context_overflow' : 'invalid_request';
}

function kindOfStatus(status: number): ProviderErrorKind {
  return kindByStatus.get(status) ?? (status >= 500 ? 'server' : 'invalid_request');
}

function findKind(text: string): ProviderErrorKind | undefined {
  return kindPatterns.find(([, pattern]) => pattern.test(text))?.[0];
}

/**
 * A kind of failure, the patterns of messages that identify it, and the statuses for which the patterns
 * apply.
 */
interface MessagePatterns {
  readonly kind: ProviderErrorKind;
  readonly statuses: readonly (number | undefined)[];
  readonly patterns: readonly RegExp[];
}

/** The statuses of rejected requests. Errors inside a stream have no status, so `undefined` is included. */
const refusals = [undefined, 400, 413, 422];

/**
 * Patterns for messages that are more precise than the status. For example, the status 429 can mean a quota,
 * and the status 400 can mean an overflow. The first match applies.
 */
const messagePatterns: readonly MessagePatterns[] = [
  {
    kind: 'quota',
    statuses: [undefined, 400, 403, 429],
    patterns: [
      /insufficient_quota|credit_balance|spend_limit|billing_(?:error|hard_limit|not_active)/i,
      /exceeded_current_quota|insufficient.{0,10}(?:balance|credit)|credit balance is too low/i,
      /used all available credits|monthly spend(?:ing)? limit|limit: 0(?!\.?\d)/i,
    ],
  },
  {
    // This entry must come before the overflows. A limit of tokens per minute is a rate limit, not a limit on
    // the length of a request.
    kind: 'rate_limit',
    statuses: [undefined],
    patterns: [/throttling|resource_exhausted|rate.?limit/i],
  },
  {
    kind: 'auth',
    statuses: [400, 403],
    patterns: [/api_key_invalid|api key not valid|(?:incorrect|invalid) api.?key/i],
  },
  {
    kind: 'context_overflow',
    statuses: refusals,
    patterns: [
      /context_length_exceeded|context_window_exceeded|too_many_prompt_tokens|request_too_large|exceed_context_size/i,
      /(?:maximum|available|model'?s?) context|context (?:window|length|size|limit)/i,
      /(?:prompt|input|request) is too (?:long|large)|maximum prompt length|prompt too long/i,
      /too many (?:input )?tokens|token (?:count|limit).{0,40}exceed|exceed.{0,40}token limit/i,
      /(?:prompt|input)(?: length)?.{0,20}exceeds? (?:the )?max|range of input length/i,
      /reduce the length of the (?:messages|prompt|input)|tokens`?.{0,40}must be <=/i,
    ],
  },
  {
    kind: 'history_rejected',
    statuses: refusals,
    patterns: [
      /signature.{0,60}(?:invalid|missing|required|block)|(?:invalid|missing).{0,20}signature|thought[_ ]?signature/i,
      /reasoning_content|without its required|`?(?:redacted_)?thinking`? blocks?/i,
      /cannot (?:be|contain|end (?:in|with)) `?(?:redacted_)?thinking/i,
      /tool_(?:use|result|call_id)s?.{0,80}(?:without|missing|must|did not have|corresponding)/i,
      /'?tool'? must be a response|no tool (?:output|call) found|toolResult blocks/i,
      /function (?:call|response) (?:parts|turn)|number of function calls and responses/i,
      /invalid_encrypted_content|encrypted content.{0,60}(?:could not|invalid)/i,
    ],
  },
  {
    // The patterns must not match the message that a model was not found, because that is a different error.
    kind: 'history_rejected',
    statuses: [...refusals, 404],
    patterns: [/items are not persisted|item with id .{0,120} not found/i],
  },
  {
    kind: 'model_output_invalid',
    statuses: refusals,
    patterns: [/tool_use_failed|malformed_function_call|malformed_(?:model_output|tool_use)/i],
  },
  {
    kind: 'filtered',
    statuses: [...refusals, 403],
    patterns: [
      /content_filter|content_policy|content filtering policy|content management policy/i,
      /responsible_?ai|moderation_blocked|(?:input|prompt) was flagged|our safety system/i,
    ],
  },
];
