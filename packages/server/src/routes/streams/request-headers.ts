import type { IncomingHttpHeaders } from 'node:http';
import { ServerError } from '../../contract/server-error.ts';
import { errorReply } from '../../http/error-reply.ts';
import { Reply, type RouteContext } from '../../http/route.ts';
import type { OffsetRange, ProducerAppend } from './stream-state.ts';
import { streamNotFound } from './stream-store.ts';

const prefix = '/streams/';
const maxPathLength = 512;
const maxTextLength = 256;
const defaultType = 'application/octet-stream';

/** Returns whether the path belongs to the streams. */
export function isStreamPath(path: string): boolean {
  return path.startsWith(prefix);
}

/** Converts an error to a reply. Durable Streams uses status 400 for invalid input. */
export function streamErrorReply(error: ServerError): Reply {
  const { body, status, headers } = errorReply(error);
  return new Reply(body, { status: status === 422 ? 400 : (status ?? 500), headers });
}

/** Returns the error for a request that the protocol forbids. */
export function badRequest(message: string): ServerError {
  return new ServerError('bad_request', message);
}

/**
 * Checks the path of a stream that a client creates, and returns it. A caller with full access can use every
 * path. Other callers can use the paths below `users/{user}` or `agents/{agent_id}` of their scope, and below
 * `tasks/{task_id}` of the tasks that they can read. All other streams do not exist for them.
 */
export async function checkPath(
  path: string,
  { grant, service }: Pick<RouteContext, 'grant' | 'service'>,
): Promise<string> {
  const steps = path.split('/').map(decodeURIComponent);
  const isValid = steps.every((step) => step !== '' && step !== '.' && step !== '..');
  if (!isValid || path.length > maxPathLength)
    throw badRequest(`Cannot use this path for a stream. Use 1 to ${maxPathLength} characters`);
  const { scope } = grant;
  if (scope.kind === 'all') return path;
  const [kind, id = '', ...rest] = steps;
  const isOwn =
    (scope.kind === 'user' && kind === 'users' && id === scope.user) ||
    (scope.kind === 'agent' && kind === 'agents' && id === scope.agentId) ||
    (kind === 'tasks' && (await canReadTask(id, service)));
  if (isOwn && rest.length > 0) return path;
  throw streamNotFound(path);
}

async function canReadTask(id: string, service: RouteContext['service']): Promise<boolean> {
  try {
    await service.tasks.get({ id });
    return true;
  } catch (error) {
    if (error instanceof ServerError && error.status < 500) return false;
    throw error;
  }
}

/** The headers of a request that creates a stream. */
export interface CreateHeaders {
  /** Undefined if the client sent none. */
  readonly contentType: string | undefined;
  readonly ttlSeconds: number | undefined;
  readonly expiresAt: string | undefined;
  readonly isClosed: boolean;
  readonly fork: ForkHeaders | undefined;
}

/** The headers of a request that creates a fork. */
export interface ForkHeaders {
  /** The path of the source below `/streams/`. */
  readonly from: string;
  /** Undefined if the client sent none. The fork then has all records of the source. */
  readonly offset: StreamOffset | undefined;
  readonly part: number;
}

/** Reads the headers of a request that creates a stream. */
export function readCreateHeaders(headers: IncomingHttpHeaders, basePath: string): CreateHeaders {
  const ttl = headerOf(headers, 'stream-ttl');
  const expiresAt = headerOf(headers, 'stream-expires-at');
  if (ttl !== undefined && expiresAt !== undefined)
    throw badRequest('Cannot use Stream-TTL and Stream-Expires-At together. Send one of them');
  if (expiresAt !== undefined && !isTimestamp(expiresAt))
    throw badRequest(
      'Cannot read Stream-Expires-At. Send an RFC 3339 time, as 2027-01-31T12:00:00Z',
    );
  return {
    contentType: readContentType(headers),
    ttlSeconds: ttl === undefined ? undefined : readCount('Stream-TTL', ttl),
    expiresAt,
    isClosed: isClosing(headers),
    fork: readForkHeaders(headers, basePath),
  };
}

/** Returns the content type of a new stream. Returns undefined if it is missing or invalid. */
function readContentType(headers: IncomingHttpHeaders): string | undefined {
  const type = headerOf(headers, 'content-type')?.trim();
  return type !== undefined && /^[\w.+-]+\/[\w.+-]+[ \t]*(?:;|$)/.test(type) ? type : undefined;
}

/** Returns the content type of a stream whose creator sent none. */
export function contentTypeOr(type: string | undefined): string {
  return type ?? defaultType;
}

function readForkHeaders(headers: IncomingHttpHeaders, basePath: string): CreateHeaders['fork'] {
  const from = headerOf(headers, 'stream-forked-from');
  const part = headerOf(headers, 'stream-fork-sub-offset');
  const offset = headerOf(headers, 'stream-fork-offset');
  if (from === undefined) {
    if (part === undefined && offset === undefined) return undefined;
    throw badRequest('Cannot fork without a source. Send Stream-Forked-From');
  }
  const count = part === undefined ? 0 : readCount('Stream-Fork-Sub-Offset', part);
  if (count > 0 && offset === undefined)
    throw badRequest('Cannot use Stream-Fork-Sub-Offset without Stream-Fork-Offset');
  const parsed = offset === undefined ? undefined : parseOffset(offset);
  return { from: sourcePath(from, basePath), offset: parsed, part: count };
}

/** Returns the path of a source. The header contains the path of its URL, or the part after `/streams/`. */
function sourcePath(header: string, basePath: string): string {
  const below = header.startsWith(`${basePath}${prefix}`) ? header.slice(basePath.length) : header;
  const path = below.startsWith(prefix) ? below.slice(prefix.length) : below.replace(/^\//, '');
  try {
    return path.split('/').map(decodeURIComponent).map(encodeURIComponent).join('/');
  } catch (cause) {
    throw badSource(cause);
  }
}

function badSource(cause: unknown): ServerError {
  const message = 'Cannot read Stream-Forked-From: its percent-encoding is invalid';
  return new ServerError('bad_request', message, {}, { cause });
}

/** Returns whether a request closes the stream. */
export function isClosing(headers: IncomingHttpHeaders): boolean {
  return headerOf(headers, 'stream-closed')?.toLowerCase() === 'true';
}

/** Reads the headers of a producer. Returns undefined if the client sent none of them. */
export function readProducer(headers: IncomingHttpHeaders): ProducerAppend | undefined {
  const id = headerOf(headers, 'producer-id');
  const epoch = headerOf(headers, 'producer-epoch');
  const seq = headerOf(headers, 'producer-seq');
  if (id === undefined && epoch === undefined && seq === undefined) return undefined;
  if (id === undefined || id === '' || epoch === undefined || seq === undefined)
    throw badRequest(
      'Cannot identify the producer. Send Producer-Id, Producer-Epoch and Producer-Seq',
    );
  return { id, epoch: readNumber('Producer-Epoch', epoch), seq: readNumber('Producer-Seq', seq) };
}

/** Returns the header `Stream-Seq`. */
export function readStreamSeq(headers: IncomingHttpHeaders): string | undefined {
  return headerOf(headers, 'stream-seq');
}

/** Reads a count. Unlike `readNumber`, it refuses leading zeros. */
function readCount(name: string, text: string): number {
  if (text === '0' || !text.startsWith('0')) return readNumber(name, text);
  throw badRequest(`Cannot read ${name}: it has leading zeros`);
}

function readNumber(name: string, text: string): number {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(value)) return value;
  throw badRequest(`Cannot read ${name}: it is not a whole number of at least 0`);
}

function isTimestamp(text: string): boolean {
  return /^\d{4}-\d\d-\d\dT/.test(text) && !Number.isNaN(Date.parse(text));
}

function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  if (value === undefined) return undefined;
  if (typeof value === 'string' && value.length <= maxTextLength) return value;
  throw badRequest(
    `Cannot use this ${name}. Send it once, with at most ${maxTextLength} characters`,
  );
}

/** A position in a stream: the offset of a record, and the incarnation that the offset belongs to. */
interface StreamOffset {
  readonly at: number;
  readonly incarnation: string;
}

/** Writes an offset. Offsets of a stream have the order of their texts. */
export function formatOffset({ at, incarnation }: StreamOffset): string {
  return `${String(at).padStart(16, '0')}_${incarnation}`;
}

/** Reads an offset that `formatOffset` wrote. */
export function parseOffset(text: string): StreamOffset {
  const [, digits, incarnation] = /^(\d{16})_([0-9a-z]{1,32})$/.exec(text) ?? [];
  if (digits !== undefined && incarnation !== undefined) return { at: Number(digits), incarnation };
  throw badRequest('Cannot read the offset. Use an offset of this stream, -1 or now');
}

/** A stream for the check of an offset. */
interface OffsetSpace {
  readonly incarnation: string;
  readonly through: number;
  /** Offsets of other sessions that are valid too. */
  readonly origins: readonly OffsetRange[];
}

/**
 * Returns the offset of the record after which to read. Throws `rewound` if the offset belongs to an earlier
 * history of the stream.
 */
export function resolveOffset({ at, incarnation }: StreamOffset, space: OffsetSpace): number {
  if (at === 0) return 0;
  const ranges = [{ incarnation: space.incarnation, through: space.through }, ...space.origins];
  const range = ranges.find((one) => one.incarnation === incarnation);
  if (range !== undefined && at <= range.through) return at;
  if (at > space.through)
    throw badRequest('Cannot use this offset: it is after the end of the stream');
  const message =
    'Cannot use this offset: the stream was replaced, or its log was rewound. Read it from offset -1';
  throw new ServerError('rewound', message);
}
