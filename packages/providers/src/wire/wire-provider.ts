import { DeltaWriter } from '@millrace/core';
import { createProvider } from '../contract/create-provider.ts';
import { leavable } from '../contract/leavable.ts';
import type { ModelRequest } from '../contract/model-request.ts';
import type { Provider, StreamContext, StreamStep } from '../contract/provider.ts';
import { Exchange } from '../transport/exchange.ts';
import { joinSignals } from '../transport/join-signals.ts';
import {
  createTransport,
  type Transport,
  type TransportOptions,
} from '../transport/transport-options.ts';
import { describeRequest } from './describe-request.ts';
import { ResponseReading } from './response-reading.ts';
import type { Wire } from './wire.ts';

/** A provider that speaks a wire over HTTP: the only place where wires meet the network. */
export function wireProvider(wire: Wire, options: TransportOptions): Provider {
  const transport = createTransport(options);
  return createProvider(
    wire.provider,
    wire.model,
    (request, context) =>
      leavable((left) => streamWire(wire, transport, request, { ...context, left })),
    (request) => describeRequest(wire.http(request)),
  );
}

interface LeavableContext extends StreamContext {
  /** Whoever reads has left, perhaps in the middle of a read. */
  readonly left: AbortSignal;
}

/** How long an answer that is complete is read on: for usage that follows, and for the body's end. */
const trailingUsageMs = 1000;
const bodyEndMs = 50;

async function* streamWire(
  wire: Wire,
  transport: Transport,
  request: ModelRequest,
  context: LeavableContext,
): AsyncGenerator<StreamStep> {
  const { item, ids } = context;
  const { id: itemId, turn, attempt } = item;
  const writer = new DeltaWriter({ itemId, turn, attempt, ids, limits: transport.limits });
  const reading = new ResponseReading(wire, transport, { writer, ids, request });
  const { signal, release } = joinSignals([context.signal, context.left]);
  let leave = () => {};
  let exchange: Exchange | undefined;
  let last: StreamStep;
  try {
    leave = await transport.gate.enter(signal);
    // It may have been stopped in the moment in which its turn came.
    signal.throwIfAborted();
    const trace = transport.sendsTrace ? context.trace : undefined;
    exchange = new Exchange({ ...transport, signal, trace, onInterrupted: leave });
    await reading.open(exchange);
    let progress: 'reading' | 'done' | 'over' = 'reading';
    for (;;) {
      const bytes = await exchange.read();
      if (bytes === undefined) break;
      reading.feed(bytes);
      if (reading.progress !== progress) {
        progress = reading.progress;
        exchange.linger(progress === 'over' ? bodyEndMs : trailingUsageMs);
      }
      const deltas = reading.take();
      if (deltas.length > 0) yield { deltas };
    }
    last = reading.finish();
  } catch (error) {
    last = reading.fail(error, signal);
  } finally {
    exchange?.close();
    leave();
    release();
  }
  yield last;
}
