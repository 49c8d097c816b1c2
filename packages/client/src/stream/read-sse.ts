import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { ClientError } from '../contract/client-error.ts';

interface SseListener {
  /** Ends the reading, even if the source of the stream ignores the signal. */
  readonly signal: AbortSignal;
  onMessage(message: EventSourceMessage): void;
  onRetry(ms: number): void;
  /** Called when data arrives. `isComment` is true for a heartbeat. */
  onData(isComment: boolean): void;
  /** Called after all events of one network read. Return false to stop reading. */
  onPause(): Promise<boolean>;
  /** Converts the error of a broken connection. */
  toLost(cause: unknown): ClientError;
}

/** The longest document of the protocol plus the SSE field names. */
const maxEventLength = 2 ** 26 + 1024;

/** Reads until the stream ends or the listener stops it. */
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
      listener.onData(false);
      feed(decoder.decode(value, { stream: true }));
      if (!(await listener.onPause())) return;
    }
  } finally {
    signal.removeEventListener('abort', cancel);
    cancel();
  }
}

/** An incomplete event at the end is dropped. The server sends it again after a reconnect. */
function feeder({ onMessage, onRetry, onData }: SseListener): (text: string) => void {
  let isTooLong = false;
  const parser = createParser({
    maxBufferSize: maxEventLength,
    onEvent: onMessage,
    onRetry,
    onComment: () => onData(true),
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
