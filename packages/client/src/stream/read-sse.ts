import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { ClientError } from '../client-error.ts';

export interface SseListener {
  /** Ends the reading, also where whoever gave the stream does not listen to it. */
  readonly signal: AbortSignal;
  onMessage(message: EventSourceMessage): void;
  onRetry(ms: number): void;
  /** Something came, if only a sign of life; `isComment` where it was one. */
  onHeard(isComment: boolean): void;
  /** All that came at once was told. False: it has heard enough. */
  onPause(): Promise<boolean>;
  /** What a connection that breaks is told as. */
  toLost(cause: unknown): ClientError;
}

/** The longest document that the protocol has, and the names of its fields. */
const maxEventLength = 2 ** 26 + 1024;

/** Reads until the stream ends, by itself or because the listener has heard enough. */
export async function readSse(
  body: ReadableStream<Uint8Array>,
  listener: SseListener,
): Promise<void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const cancel = () => void reader.cancel().catch(() => {});
  const { signal, toLost } = listener;
  signal.addEventListener('abort', cancel);
  const feed = feeder(listener);
  try {
    while (!signal.aborted) {
      const { done, value } = await reader.read().catch((cause: unknown) => {
        throw toLost(cause);
      });
      if (done) return;
      listener.onHeard(false);
      feed(decoder.decode(value, { stream: true }));
      if (!(await listener.onPause())) return;
    }
  } finally {
    signal.removeEventListener('abort', cancel);
    cancel();
  }
}

/** An event that is not whole at the end is none: it comes again. */
function feeder({ onMessage, onRetry, onHeard }: SseListener): (text: string) => void {
  let isTooLong = false;
  const parser = createParser({
    maxBufferSize: maxEventLength,
    onEvent: onMessage,
    onRetry,
    onComment: () => onHeard(true),
    onError: ({ type }) => {
      isTooLong ||= type === 'max-buffer-size-exceeded';
    },
  });
  return (text) => {
    parser.feed(text);
    if (!isTooLong) return;
    const message = `Cannot read the stream: an event is longer than ${maxEventLength} characters`;
    throw new ClientError('bad_answer', message);
  };
}
