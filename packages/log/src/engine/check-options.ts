import {
  assertOptionNames,
  type ErrorPlace,
  isId,
  type OptionNames,
  type SessionId,
} from '@millrace/core';
import type { DeleteOptions, FollowOptions, OpenOptions, ReadOptions } from '../contract/log.ts';
import { LogError, rewoundError } from '../contract/log-error.ts';
import type { SessionFilter } from '../contract/session-info.ts';
import { incarnationText } from '../storage/incarnation.ts';
import type { SessionRow } from '../storage/rows.ts';

// These functions check options before any work begins. Several callers share a transaction, and a bad option
// of one caller must not fail the work of the other callers. The types are not enough, because options may
// come from JSON.

/** The shortest lease that is allowed. A shorter lease would be renewed all the time. */
const minLeaseMs = 50;
const maxKeyLength = 1024;

export function assertSessionId(session: string): asserts session is SessionId {
  assert(
    isString(session) && isId(session),
    'the session',
    'it must have 1 to 1024 printable characters',
  );
}

/**
 * Checks the idempotency key of a command. The maximum length is small, because long data belongs in the
 * command itself.
 */
export function assertCommandKey(key: string, session: SessionId): void {
  const isKey = isString(key) && key.length > 0 && key.length <= maxKeyLength && key.isWellFormed();
  const why = `it must have 1 to ${maxKeyLength} characters`;
  assert(isKey, 'the key of a command', why, { session });
}

export function assertOpenOptions(session: SessionId, options: OpenOptions): void {
  assertNames('open', options, openNames);
  assertSessionId(session);
  assertIncarnationOption(options, session);
  const { holder = '', leaseMs = minLeaseMs, takeOver = false } = options;
  const { isDetached = false, epoch = 0 } = options;
  assert(isString(holder), 'holder', 'it must be a string', { session });
  const isLease = typeof leaseMs === 'number' && leaseMs >= minLeaseMs;
  const why = `it must be ${minLeaseMs} ms or more, or Infinity`;
  assert(isLease, `leaseMs ${leaseMs}`, why, { session });
  assert(typeof takeOver === 'boolean', 'takeOver', 'it must be true or false', { session });
  assert(typeof isDetached === 'boolean', 'isDetached', 'it must be true or false', { session });
  assert(isCount(epoch), `epoch ${epoch}`, 'it must be the epoch of a driver', { session });
}

export function assertFollowOptions(session: SessionId, options: FollowOptions): void {
  assertNames('follow', options, followNames);
  assertSessionId(session);
  assertIncarnationOption(options, session);
  const { until, signal, maxLag = 0 } = options;
  const isUntil = until === undefined || until === 'idle' || until === 'closed';
  assert(isUntil, `until ${until}`, "it must be 'idle', 'closed' or undefined", { session });
  const isSignal = signal === undefined || typeof signal?.addEventListener === 'function';
  assert(isSignal, 'signal', 'it must be an AbortSignal', { session });
  assert(isNonNegative(maxLag), `maxLag ${maxLag}`, 'it must be 0 or more', { session });
}

function assertIncarnationOption(
  { incarnation }: { readonly incarnation?: string | undefined },
  session: SessionId,
): void {
  const isKnown = incarnation === undefined || isString(incarnation);
  assert(isKnown, 'incarnation', 'it must be a string of SessionInfo', { session });
}

/**
 * Throws `rewound` if the cursor belongs to a different incarnation. Throws `bad_offset` if the session never
 * had its offset.
 */
export function assertCursor(
  row: Pick<SessionRow, 'session' | 'through' | 'made' | 'incarnation'>,
  {
    from = 0,
    incarnation,
  }: { readonly from?: number | undefined; readonly incarnation?: string | undefined },
): void {
  const now = incarnationText(row);
  if (incarnation !== undefined && incarnation !== now)
    throw rewoundError(row.session, incarnation, now);
  assertOffset(row, from);
}

export function assertReadOptions(options: ReadOptions, session: SessionId): void {
  assertNames('read', options, { from: true, incarnation: true, maxBytes: true });
  assertIncarnationOption(options, session);
  const { maxBytes = 1 } = options;
  const isMost = isNonNegative(maxBytes) && maxBytes > 0;
  assert(isMost, `maxBytes ${maxBytes}`, 'it must be more than 0', { session });
}

export function assertSessionFilter(filter: SessionFilter): void {
  assertNames('list', filter, { isWaiting: true, isClosed: true, after: true, limit: true });
  const { after, limit = 0, isWaiting, isClosed } = filter;
  assert(after === undefined || isString(after), 'after', 'it must be a session id');
  const isLimit = limit === Number.POSITIVE_INFINITY || isCount(limit);
  assert(isLimit, `limit ${limit}`, 'it must be a whole number of 0 or more, or Infinity');
  for (const flag of [isWaiting, isClosed])
    assert(flag === undefined || typeof flag === 'boolean', 'a filter', 'it must be true or false');
}

export function assertDeleteOptions(options: DeleteOptions, session: SessionId): void {
  assertNames('delete', options, { ifThrough: true });
  const { ifThrough = 0 } = options;
  assert(isCount(ifThrough), `ifThrough ${ifThrough}`, 'it must be an offset', { session });
}

export function assertHash(hash: string): void {
  assert(isString(hash), 'the hash of a blob', 'it must be a string');
}

/** Checks the start and end of a slice of a blob. */
export function assertSlice(start: number, end: number): void {
  const areOffsets = isCount(start) && isNonNegative(end);
  assert(areOffsets, `the slice ${start} to ${end}`, 'it must count bytes from 0');
}

export function assertBytes(bytes: Uint8Array): void {
  const isBytes = Object.prototype.toString.call(bytes) === '[object Uint8Array]';
  assert(isBytes, 'a blob', 'it must be a Uint8Array');
}

const openNames: OptionNames<OpenOptions> = {
  holder: true,
  leaseMs: true,
  takeOver: true,
  isDetached: true,
  epoch: true,
  from: true,
  incarnation: true,
};

const followNames: OptionNames<FollowOptions> = {
  from: true,
  incarnation: true,
  until: true,
  signal: true,
  maxLag: true,
};

/** Throws `bad_option` if the options are not an object or have an unknown name. */
export function assertNames<Options extends object>(
  of: string,
  options: Options,
  names: OptionNames<Options>,
): void {
  assertOptionNames(of, options, names, (message, option) => {
    return new LogError('bad_option', message, { of, option });
  });
}

/**
 * Throws `bad_option` unless a value is an object. Callers replace `undefined` with defaults before this
 * check.
 */
export function assertObject(value: object | undefined, what: string): void {
  assert(typeof value === 'object' && value !== null, what, 'they must be an object');
}

export function isString(value: unknown): value is string {
  return typeof value === 'string';
}

function isNonNegative(value: unknown): boolean {
  return typeof value === 'number' && value >= 0;
}

/** Throws `bad_option` if `isRight` is false. `rule` describes the allowed values. */
export function assert(isRight: boolean, what: string, rule: string, place: ErrorPlace = {}): void {
  if (isRight) return;
  throw new LogError('bad_option', `Cannot use ${what}: ${rule}`, place);
}

/** Throws `bad_offset` if the session never had this offset. */
function assertOffset(
  { session, through }: Pick<SessionRow, 'session' | 'through'>,
  offset: number,
): void {
  if (Number.isInteger(offset) && offset >= 0 && offset <= through) return;
  const message = `Cannot read session ${session} after offset ${offset}: its offsets are 0 to ${through}`;
  throw new LogError('bad_offset', message, { session, offset, through });
}

/** Returns whether a value is a whole number that is 0 or more. */
export function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

/**
 * Decodes a percent-encoded part of a URL. Returns the text unchanged if its encoding is invalid.
 */
export function decodeUrlPart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
