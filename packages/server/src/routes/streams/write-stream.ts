import { ServerError } from '../../contract/server-error.ts';
import { Reply, type RouteContext } from '../../http/route.ts';
import { readMessages } from './json-messages.ts';
import { positionHeaders, streamGone } from './read-stream.ts';
import {
  badRequest,
  type CreateHeaders,
  checkPath,
  contentTypeOr,
  type ForkHeaders,
  isClosing,
  readCreateHeaders,
  readProducer,
  readStreamSeq,
  resolveOffset,
} from './request-headers.ts';
import {
  bytesData,
  firstPart,
  isJsonType,
  mediaType,
  type ProducerAppend,
  producerState,
  type StreamConfig,
  type StreamData,
  type StreamFact,
} from './stream-state.ts';
import {
  type Decision,
  type FoundStream,
  isStored,
  type StoredStream,
  streamNotFound,
  streamStore,
} from './stream-store.ts';

/** Maximum number of producers of a stream. */
const maxProducers = 1000;
/** Maximum number of forks of a stream. */
const maxForks = 1000;
/** Maximum number of forks in a chain: a fork, a fork of this fork, and so on. */
const maxForkDepth = 100;

/** Creates a stream, or confirms that it exists with the same configuration. */
export async function createStream(path: string, context: RouteContext): Promise<Reply> {
  const { log, clock, headers, basePath } = context;
  const wanted = readCreateHeaders(headers, basePath);
  const store = streamStore(log, clock);
  const { result, stream } =
    wanted.fork === undefined
      ? await store.write(path, (found) => decideCreate(found, path, wanted, context))
      : await createFork(path, wanted, wanted.fork, context);
  if (stream === undefined) throw streamNotFound(path);
  const host = headers.host ?? 'localhost';
  const location = `${isSecure(context) ? 'https' : 'http'}://${host}${basePath}/streams/${path}`;
  return new Reply(undefined, {
    status: result === 'created' ? 201 : 200,
    headers: {
      'content-type': stream.config.contentType,
      ...streamHeaders(stream),
      ...(result === 'created' && { location }),
    },
  });
}

function isSecure({ headers }: RouteContext): boolean {
  return headers['x-forwarded-proto'] === 'https';
}

/** Returns the headers that describe a stream. */
export function streamHeaders({ incarnation, through, state }: StoredStream) {
  const { tail, isClosed } = state;
  return positionHeaders({ incarnation, through, tail, isClosed });
}

type Created = 'created' | 'exists';

function decideCreate(
  found: FoundStream,
  path: string,
  wanted: CreateHeaders,
  context: RouteContext,
): Decision<Created> {
  if (found === 'gone') throw pathInUse();
  if (found !== undefined) return { facts: [], result: confirm(found, wanted) };
  const { ttlSeconds, expiresAt, isClosed } = wanted;
  const contentType = contentTypeOr(wanted.contentType);
  const config: StreamConfig = { path, contentType, ttlSeconds, expiresAt };
  const facts = [createdFact(config, isClosed), ...initialFacts(contentType, context)];
  return { facts, result: 'created' };
}

function createdFact(config: StreamConfig, isClosed: boolean): StreamFact {
  return { type: 'stream_created', config, isClosed };
}

/** Returns the facts for the body of a request that creates a stream. */
function initialFacts(contentType: string, context: RouteContext): readonly StreamFact[] {
  const { bytes } = context;
  if (bytes === undefined || bytes.length === 0) return [];
  const data = readData(bytes, contentType, context);
  return data === undefined ? [] : [{ type: 'stream_appended', data }];
}

/** Converts a body to data. Returns undefined for an empty JSON array. */
function readData(
  bytes: Buffer,
  contentType: string,
  { limits }: RouteContext,
): StreamData | undefined {
  if (!isJsonType(contentType)) return bytesData(bytes);
  const json = readMessages(bytes, limits);
  return json.length === 0 ? undefined : { json };
}

/** Throws `conflict` if an existing stream has another configuration. */
function confirm({ config, state }: StoredStream, wanted: CreateHeaders): Created {
  const { fork } = wanted;
  // If the request for a fork omits a value, the fork takes it from its source.
  const isType =
    fork !== undefined && wanted.contentType === undefined
      ? true
      : mediaType(contentTypeOr(wanted.contentType)) === mediaType(config.contentType);
  const takesExpiry =
    fork !== undefined && wanted.ttlSeconds === undefined && wanted.expiresAt === undefined;
  const isExpiry =
    takesExpiry ||
    (wanted.ttlSeconds === config.ttlSeconds && wanted.expiresAt === config.expiresAt);
  const isFork =
    fork?.from === config.fork?.from &&
    (fork?.offset === undefined || fork.offset.at === config.fork?.through) &&
    (fork?.part ?? 0) === (config.fork?.part ?? 0);
  if (isType && isExpiry && isFork && wanted.isClosed === state.isClosed) return 'exists';
  throw conflict('Cannot create this stream: it exists with another configuration');
}

async function createFork(
  path: string,
  wanted: CreateHeaders,
  fork: ForkHeaders,
  context: RouteContext,
) {
  const { log, clock, copies } = context;
  const store = streamStore(log, clock);
  const from = await checkPath(fork.from, context);
  // A request that repeats a fork copies nothing, so it has no limit.
  const known = copies === undefined ? undefined : await store.find(path);
  const copy = (onCopy?: (bytes: number) => void) =>
    store.fork<Created>(
      path,
      () => prepareFork(path, from, wanted, fork, context),
      'created',
      onCopy,
    );
  return copies === undefined || known !== undefined ? copy() : copies.run(copy);
}

async function prepareFork(
  path: string,
  from: string,
  wanted: CreateHeaders,
  fork: ForkHeaders,
  context: RouteContext,
) {
  const store = streamStore(context.log, context.clock);
  const found = await store.find(path);
  if (found === 'gone') throw pathInUse();
  if (found !== undefined) return { result: confirm(found, wanted), stream: found };
  const source = await store.find(from);
  if (source === undefined) throw streamNotFound(from);
  if (source === 'gone') throw conflict('Cannot fork this stream: it was deleted');
  const through = forkPoint(source, fork);
  const config = forkConfig(path, source, through, wanted, fork);
  const part = fork.part === 0 ? undefined : await store.nextData(source, through);
  const first = part && firstPart(part, fork.part);
  if (fork.part > 0 && first === undefined)
    throw badRequest('Cannot fork here: the next append is shorter than Stream-Fork-Sub-Offset');
  const facts = [
    createdFact(config, wanted.isClosed),
    ...(first === undefined ? [] : [{ type: 'stream_appended', data: first } as const]),
    ...initialFacts(config.contentType, context),
  ];
  return { source, through, facts };
}

/** Returns the offset of the last record of the source that the fork has. */
function forkPoint({ state, incarnation, through, config }: StoredStream, fork: ForkHeaders) {
  if (state.forks.length >= maxForks)
    throw new ServerError('too_large', `Cannot fork this stream: it has ${maxForks} forks`);
  const { origins = [] } = config.fork ?? {};
  if (origins.length >= maxForkDepth) {
    const message = `Cannot fork this stream: it is the last of a chain of ${maxForkDepth} forks`;
    throw new ServerError('too_large', message);
  }
  if (fork.offset === undefined) return state.tail;
  return resolveOffset(fork.offset, { incarnation, through, origins });
}

function forkConfig(
  path: string,
  { config: source, incarnation }: StoredStream,
  through: number,
  wanted: CreateHeaders,
  { from, part }: ForkHeaders,
): StreamConfig {
  const { contentType = source.contentType } = wanted;
  if (mediaType(contentType) !== mediaType(source.contentType))
    throw conflict('Cannot fork this stream: the source has another content type');
  const isOwn = wanted.ttlSeconds !== undefined || wanted.expiresAt !== undefined;
  const { ttlSeconds, expiresAt } = isOwn ? wanted : source;
  const earlier = (source.fork?.origins ?? []).map((origin) => ({
    ...{ ...origin, through: Math.min(origin.through, through) },
  }));
  const origins = [{ incarnation, through }, ...earlier];
  return { path, contentType, ttlSeconds, expiresAt, fork: { from, through, part, origins } };
}

/** The result of an append. */
type Appended =
  | 'stored'
  | 'repeated'
  | { readonly status: 400 | 403 | 409; readonly message: string; readonly headers: Headers };
type Headers = Readonly<Record<string, string>>;

/** Appends the body to a stream, closes the stream, or both. */
export async function appendToStream(path: string, context: RouteContext): Promise<Reply> {
  const { log, clock, headers, bytes } = context;
  const producer = readProducer(headers);
  const seq = readStreamSeq(headers);
  const closes = isClosing(headers);
  const isEmpty = bytes === undefined || bytes.length === 0;
  if (isEmpty && !closes) throw badRequest('Cannot append an empty body');
  const type = headers['content-type'];
  if (!isEmpty && type === undefined)
    throw badRequest('Cannot append without a content type. Send the content type of the stream');
  const { result, stream } = await streamStore(log, clock).write(path, (found) => {
    const current = existing(found, path);
    const data = isEmpty ? undefined : () => appendedData(current, String(type), bytes, context);
    return decideAppend(current, { producer, seq, closes, data });
  });
  return appendReply(result, stream ?? existing(undefined, path), { producer, isEmpty });
}

function appendedData(
  { config }: StoredStream,
  type: string,
  bytes: Buffer,
  context: RouteContext,
): StreamData {
  if (mediaType(type) !== mediaType(config.contentType))
    throw conflict('Cannot append this content type: the stream has another one');
  const data = readData(bytes, config.contentType, context);
  if (data === undefined) throw badRequest('Cannot append an empty array');
  return data;
}

/** Returns the stream, or throws if it does not exist. */
export function existing(found: FoundStream, path: string): StoredStream {
  if (found === 'gone') throw streamGone();
  if (!isStored(found)) throw streamNotFound(path);
  return found;
}

interface WantedAppend {
  readonly producer: ProducerAppend | undefined;
  readonly seq: string | undefined;
  readonly closes: boolean;
  /** Reads the body. Undefined if the request only closes the stream. */
  readonly data: (() => StreamData) | undefined;
}

/**
 * Decides about an append. The producer is checked first, so that a producer that repeats a stored append
 * succeeds even if the stream was closed, or another writer used a later `Stream-Seq`.
 */
function decideAppend(
  stream: StoredStream,
  { producer, seq, closes, data }: WantedAppend,
): Decision<Appended> {
  const { state } = stream;
  // Wrong content types and bodies are refused before the stream is compared with the producer.
  const read = state.isClosed ? undefined : data?.();
  const checked = producer === undefined ? 'next' : checkProducer(stream, producer);
  const isFenced = typeof checked === 'object' && checked.status === 403;
  if (checked === 'repeated' || isFenced) return { facts: [], result: checked };
  if (state.isClosed) {
    const isRepeat = data === undefined && producer === undefined;
    return { facts: [], result: isRepeat ? 'repeated' : closedStream(stream) };
  }
  if (checked !== 'next') return { facts: [], result: checked };
  if (seq !== undefined && state.lastSeq !== undefined && !isAfter(seq, state.lastSeq)) {
    const message = 'Cannot append: Stream-Seq is not higher than the last one';
    return { facts: [], result: { status: 409, message, headers: {} } };
  }
  const fact: StreamFact = {
    ...{ type: 'stream_appended', data: read, producer, seq },
    ...(closes && { closes }),
  };
  return { facts: [fact], result: 'stored' };
}

function isAfter(seq: string, last: string): boolean {
  return Buffer.compare(Buffer.from(seq), Buffer.from(last)) > 0;
}

function checkProducer({ state }: StoredStream, { id, epoch, seq }: ProducerAppend) {
  const known = producerState(state, id);
  if (known === undefined && Object.keys(state.producers).length >= maxProducers)
    throw new ServerError('too_large', `Cannot append: the stream has ${maxProducers} producers`);
  if (known !== undefined && epoch < known.epoch) {
    const message = 'Cannot append: another producer with this id has a higher epoch';
    const headers = { 'producer-epoch': String(known.epoch) };
    return { status: 403, message, headers } as const;
  }
  if (known !== undefined && epoch > known.epoch) {
    if (seq === 0) return 'next';
    const message = 'Cannot append: a new epoch starts with Producer-Seq 0';
    return { status: 400, message, headers: {} } as const;
  }
  const next = known === undefined ? 0 : known.seq + 1;
  if (seq < next) return 'repeated';
  if (seq === next) return 'next';
  const message = `Cannot append: Producer-Seq ${seq} is not the next number, which is ${next}`;
  const headers = { 'producer-expected-seq': String(next), 'producer-received-seq': String(seq) };
  return { status: 409, message, headers } as const;
}

function closedStream(stream: StoredStream): Appended {
  return {
    status: 409,
    message: 'Cannot append: the stream is closed',
    headers: streamHeaders(stream),
  };
}

function appendReply(
  result: Appended,
  stream: StoredStream,
  {
    producer,
    isEmpty,
  }: { readonly producer: ProducerAppend | undefined; readonly isEmpty: boolean },
): Reply {
  if (typeof result === 'object') {
    const { status, message, headers } = result;
    const code = status === 400 ? 'bad_request' : status === 403 ? 'forbidden' : 'conflict';
    const body = { message, code: status, data: null, error: { code } };
    return new Reply(body, { status, headers });
  }
  const known = producer && producerState(stream.state, producer.id);
  const status = result === 'stored' && producer !== undefined && !isEmpty ? 200 : 204;
  return new Reply(undefined, {
    status,
    headers: {
      ...streamHeaders(stream),
      ...(producer && {
        'producer-epoch': String(producer.epoch),
        'producer-seq': String(known?.seq ?? producer.seq),
      }),
    },
  });
}

function conflict(message: string): ServerError {
  return new ServerError('conflict', message);
}

function pathInUse(): ServerError {
  return conflict('Cannot create this stream: a deleted stream with this path still has forks');
}
