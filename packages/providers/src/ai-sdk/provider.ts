import { DeltaWriter } from '@millrace/core';
import { createProvider } from '../contract/create-provider.ts';
import { leavable } from '../contract/leavable.ts';
import type { ModelRequest } from '../contract/model-request.ts';
import type { Provider, ResponseEnd, StreamContext, StreamStep } from '../contract/provider.ts';
import { stoppedBy } from '../contract/stopped-by.ts';
import { createTransport, type Transport } from '../transport/transport-options.ts';
import { askModel } from './ask-model.ts';
import type { AiSdkModel } from './model.ts';
import { ModelReading } from './model-reading.ts';
import { ModelStream } from './model-stream.ts';
import type { AiSdkOptions, CallExtras } from './options.ts';
import { callOptions } from './request.ts';

/**
 * Any model of the AI SDK's provider packages: Bedrock, Cohere, and the rest.
 *
 * @example
 * const provider = fromAiSdk(bedrock('anthropic.claude-sonnet-4-5'));
 */
export function fromAiSdk(model: AiSdkModel, options: AiSdkOptions = {}): Provider {
  const bridge = {
    model,
    extras: options,
    transport: createTransport(options),
    // From a variable that is not set comes none.
    secrets: options.secrets?.filter((secret) => typeof secret === 'string') ?? [],
  };
  return createProvider(model.provider, model.modelId, (request, context) =>
    leavable((left) => streamModel(bridge, request, stoppedBy(context, left))),
  );
}

/** A model, and what all calls of it have in common. */
interface Bridge {
  readonly model: AiSdkModel;
  readonly extras: CallExtras;
  readonly transport: Transport;
  readonly secrets: readonly string[];
}

/** How long an answer that is complete is read on, for the stream's end. */
const streamEndMs = 50;

async function* streamModel(
  { model, extras, transport, secrets }: Bridge,
  request: ModelRequest,
  { item, ids, signal }: StreamContext,
): AsyncGenerator<StreamStep> {
  const { id: itemId, turn, attempt } = item;
  const writer = new DeltaWriter({ itemId, turn, attempt, ids, limits: transport.limits });
  const owner = { provider: model.provider, model: model.modelId };
  const reading = new ModelReading({ ...owner, writer, ids, request }, transport.clock);
  reading.keep(secrets);
  let leave = () => {};
  let stream: ModelStream | undefined;
  let end: ResponseEnd;
  try {
    leave = await transport.gate.enter(signal);
    // It may have been stopped in the moment in which its turn came.
    signal?.throwIfAborted();
    stream = new ModelStream({ ...transport, signal, onInterrupted: leave });
    const options = callOptions(request, owner, extras);
    reading.asked(options, secrets);
    reading.opened(
      await stream.open((abortSignal) => askModel(model, { ...options, abortSignal })),
    );
    for (;;) {
      const parts = await stream.read();
      if (parts.length === 0) break;
      const wasFinished = reading.isFinished;
      reading.feed(parts);
      if (reading.isFinished && !wasFinished) stream.linger(streamEndMs);
      const deltas = reading.take();
      if (deltas.length > 0) yield { deltas };
    }
    end = reading.finish();
  } catch (error) {
    end = reading.fail(error, signal);
  } finally {
    stream?.close();
    leave();
  }
  yield { deltas: reading.take(), end };
}
