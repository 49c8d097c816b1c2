import { DeltaWriter, type JsonObject } from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import type {
  DescribedRequest,
  Provider,
  QueryOptions,
  StreamContext,
  StreamStep,
} from '../contract/provider.ts';
import { abortOnReturn } from '../provider/abort-on-return.ts';
import { providerOf } from '../provider/create-provider.ts';
import { hideCredentials } from '../provider/hidden-credentials.ts';
import type { TokenCounter } from '../tokens/token-counter.ts';
import { HttpExchange, type ResponseBody } from '../transport/http-exchange.ts';
import type { HttpRequest } from '../transport/http-request.ts';
import {
  createTransport,
  type Transport,
  type TransportOptions,
} from '../transport/transport-options.ts';
import type { ApiOptions } from './api-options.ts';
import { ResponseReader } from './response-reader.ts';
import type { Wire } from './wire.ts';

/**
 * Creates a provider that uses a wire format over HTTP. Only this code connects the wire formats to the
 * network.
 */
export function wireProvider(
  given: Wire,
  options: TransportOptions & Pick<ApiOptions, 'secrets'>,
): Provider {
  const transport = createTransport(options);
  const wire = withMoreSecrets(given, options.secrets);
  const { model, tokenCounter, windowSource } = wire;
  const provider = providerOf(
    wire.provider,
    model,
    (request, context) =>
      abortOnReturn((returned) => streamWire(wire, transport, request, { ...context, returned })),
    (request, options) => describeRequest(wire.http(request, options?.session)),
    wire.info,
  );
  return {
    ...provider,
    ...(tokenCounter && {
      countTokens: countTokensOnDemand(tokenCounter, wire, transport),
    }),
    ...(windowSource && {
      contextTokens: async ({ signal }: QueryOptions = {}) => {
        const { readContextWindow } = await import('../tokens/context-window.ts');
        return readContextWindow({ ...windowSource(), ...transport, model, loads: true, signal });
      },
    }),
  };
}

function withMoreSecrets(wire: Wire, more: readonly string[] = []): Wire {
  if (more.length === 0) return wire;
  const http = (request: ModelRequest, session: string | undefined) => {
    const built = wire.http(request, session);
    return { ...built, secrets: [...built.secrets, ...more] };
  };
  return { ...wire, http };
}

/**
 * Returns a function that counts tokens. It loads the code at the first count, because few programs count
 * tokens.
 */
function countTokensOnDemand(
  counter: TokenCounter,
  wire: Wire,
  transport: Transport,
): NonNullable<Provider['countTokens']> {
  let loading: Promise<NonNullable<Provider['countTokens']>> | undefined;
  return async (request, options) => {
    loading ??= import('../tokens/count-tokens.ts').then(({ countTokensWith }) =>
      countTokensWith(counter, (one, session) => wire.http(one, session), transport),
    );
    return (await loading)(request, options);
  };
}

interface WireStreamContext extends StreamContext {
  /** Aborts when the reader stops, possibly during a read. */
  readonly returned: AbortSignal;
}

/**
 * The time for which the provider continues to read after the answer is complete, in milliseconds. The first
 * value is for usage that follows the answer. The second value is for the end of the body.
 */
const trailingUsageMs = 1000;
const bodyEndMs = 50;

async function* streamWire(
  wire: Wire,
  transport: Transport,
  request: ModelRequest,
  context: WireStreamContext,
): AsyncGenerator<StreamStep> {
  const { item, ids, session } = context;
  const { id: itemId, turn, attempt } = item;
  const writer = new DeltaWriter({ itemId, turn, attempt, ids, limits: transport.limits });
  const reading = new ResponseReader(wire, transport, { writer, ids, request, session });
  const { signal, release } = joinSignals([context.signal, context.returned]);
  let releasePlace = () => {};
  let body: ResponseBody | undefined;
  let stored: typeof import('./stored-response.ts') | undefined;
  let last: StreamStep;
  try {
    releasePlace = await transport.semaphore.acquire(signal);
    // The signal may abort while the request waits in the queue.
    signal.throwIfAborted();
    const trace = transport.sendsTrace ? context.trace : undefined;
    const connect = () =>
      new HttpExchange({ ...transport, signal, trace, onInterrupted: releasePlace });
    // Only a stored response can continue after its connection was lost. The code loads before the request is
    // sent, because it could not load while the network is down.
    const isStored = wire.resume !== undefined || wire.cancel !== undefined;
    stored = isStored ? await import('./stored-response.ts') : undefined;
    const exchange = connect();
    body =
      stored?.bodyOf(exchange, reading, { connect, clock: transport.clock, signal }) ?? exchange;
    await reading.open(exchange);
    let progress: ResponseReader['progress'] = 'reading';
    for (;;) {
      const bytes = await body.read();
      if (bytes === undefined) break;
      reading.feed(bytes);
      if (reading.progress !== progress) {
        progress = reading.progress;
        if (progress !== 'answered')
          body.drainFor(progress === 'over' ? bodyEndMs : trailingUsageMs);
      }
      const deltas = reading.take();
      if (deltas.length === 0) continue;
      body.recordContent();
      yield {
        deltas: reading.mayRepeatKey(deltas) ? await reading.redactedDeltas(deltas) : deltas,
      };
    }
    last = await reading.finish();
  } catch (error) {
    last = await reading.fail(error, signal);
  } finally {
    body?.close();
    if (signal.aborted) stored?.stopResponse(transport, reading.cancellation);
    releasePlace();
    release();
  }
  yield last;
}

/** Returns a description of a request, without secrets. */
function describeRequest({ url, body, secrets }: HttpRequest): DescribedRequest {
  const { origin, pathname } = new URL(url);
  const hidden = secrets.filter((secret) => secret !== '');
  const shown = hideCredentials(body);
  return {
    method: 'POST',
    url: hide(`${origin}${pathname}`, hidden),
    body: hidden.length === 0 ? shown : withoutSecrets(shown, hidden),
  };
}

/**
 * Removes secrets from a body. The body should not contain the key. This is a safeguard for pages that show
 * requests.
 */
function withoutSecrets(body: JsonObject, secrets: readonly string[]): JsonObject {
  const text = JSON.stringify(body, (_key, value: unknown) =>
    typeof value === 'string' ? hide(value, secrets) : value,
  );
  return JSON.parse(text) as JsonObject;
}

function hide(text: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, '[key]'), text);
}

interface JoinedSignals {
  readonly signal: AbortSignal;
  /** Removes the listeners. This is needed because one of the signals may exist as long as the process. */
  readonly release: () => void;
}

/** Returns a signal that aborts when the first of the given signals aborts, with the same reason. */
function joinSignals(signals: readonly (AbortSignal | undefined)[]): JoinedSignals {
  const joined = new AbortController();
  const releases = signals.map((signal) => signal && follow(signal, joined));
  return {
    signal: joined.signal,
    release: () => {
      for (const release of releases) release?.();
    },
  };
}

function follow(signal: AbortSignal, joined: AbortController): () => void {
  const abort = () => joined.abort(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort);
  return () => signal.removeEventListener('abort', abort);
}
