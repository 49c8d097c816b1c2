import { DeltaWriter, type JsonObject } from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import type {
  DescribedRequest,
  Provider,
  StreamContext,
  StreamStep,
} from '../contract/provider.ts';
import { abortOnReturn } from '../provider/abort-on-return.ts';
import { createProvider } from '../provider/create-provider.ts';
import { HttpExchange } from '../transport/http-exchange.ts';
import type { HttpRequest } from '../transport/http-request.ts';
import {
  createTransport,
  type Transport,
  type TransportOptions,
} from '../transport/transport-options.ts';
import { ResponseReader } from './response-reader.ts';
import type { Wire } from './wire.ts';

/** A provider that speaks a wire over HTTP: the only place where wires meet the network. */
export function wireProvider(wire: Wire, options: TransportOptions): Provider {
  const transport = createTransport(options);
  return createProvider(
    wire.provider,
    wire.model,
    (request, context) =>
      abortOnReturn((returned) => streamWire(wire, transport, request, { ...context, returned })),
    (request) => describeRequest(wire.http(request)),
  );
}

interface WireStreamContext extends StreamContext {
  /** Whoever reads has left, perhaps in the middle of a read. */
  readonly returned: AbortSignal;
}

/** How long an answer that is complete is read on: for usage that follows, and for the body's end. */
const trailingUsageMs = 1000;
const bodyEndMs = 50;

async function* streamWire(
  wire: Wire,
  transport: Transport,
  request: ModelRequest,
  context: WireStreamContext,
): AsyncGenerator<StreamStep> {
  const { item, ids } = context;
  const { id: itemId, turn, attempt } = item;
  const writer = new DeltaWriter({ itemId, turn, attempt, ids, limits: transport.limits });
  const reading = new ResponseReader(wire, transport, { writer, ids, request });
  const { signal, release } = joinSignals([context.signal, context.returned]);
  let releasePlace = () => {};
  let exchange: HttpExchange | undefined;
  let last: StreamStep;
  try {
    releasePlace = await transport.semaphore.acquire(signal);
    // It may have been stopped in the moment in which its turn came.
    signal.throwIfAborted();
    const trace = transport.sendsTrace ? context.trace : undefined;
    exchange = new HttpExchange({ ...transport, signal, trace, onInterrupted: releasePlace });
    await reading.open(exchange);
    let progress: 'reading' | 'done' | 'over' = 'reading';
    for (;;) {
      const bytes = await exchange.read();
      if (bytes === undefined) break;
      reading.feed(bytes);
      if (reading.progress !== progress) {
        progress = reading.progress;
        exchange.drainFor(progress === 'over' ? bodyEndMs : trailingUsageMs);
      }
      const deltas = reading.take();
      if (deltas.length > 0) yield { deltas };
    }
    last = reading.finish();
  } catch (error) {
    last = reading.fail(error, signal);
  } finally {
    exchange?.close();
    releasePlace();
    release();
  }
  yield last;
}

/** A request without anything that may be a secret. */
function describeRequest({ url, body, secrets }: HttpRequest): DescribedRequest {
  const { origin, pathname } = new URL(url);
  const hidden = secrets.filter((secret) => secret !== '');
  return {
    method: 'POST',
    url: hide(`${origin}${pathname}`, hidden),
    body: hidden.length === 0 ? body : withoutSecrets(body, hidden),
  };
}

/** Nobody should have said the key, and a page that shows requests is not to be how it gets out. */
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
  /** Lets go of the others: one of them may live as long as the program. */
  readonly release: () => void;
}

/** A signal that is aborted, with the same reason, by the first of these that is. */
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
