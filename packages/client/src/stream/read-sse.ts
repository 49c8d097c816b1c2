import { ClientError } from '../contract/client-error.ts';

/** One server-sent event. */
export interface SseMessage {
  id?: string | undefined;
  event?: string | undefined;
  data: string;
}

interface SseListener {
  /** When this signal is aborted, the reading ends, even if the source of the stream ignores the signal. */
  readonly signal: AbortSignal;
  onMessage(message: SseMessage): void;
  onRetry(ms: number): void;
  /** Called when data arrives. `isComment` is true for a heartbeat. */
  onData(isComment: boolean): void;
  /** Called after all events of one network read. If it resolves to false, the reading stops. */
  onPause(): Promise<boolean>;
  /** Converts the error of a broken connection to a `ClientError`. */
  toLost(cause: unknown): ClientError;
}

/** Maximum length of an event: the longest document of the protocol, plus space for the SSE field names. */
const maxEventLength = 2 ** 26 + 1024;

/** Reads events until the stream ends or the listener stops the reading. */
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

/**
 * Returns a function that splits text into lines, and lines into events. It drops an incomplete event at the
 * end of the stream, because the server sends it again after a reconnect.
 */
function feeder({ onMessage, onRetry, onData }: SseListener): (text: string) => void {
  /**
   * The fragments of an incomplete line. They are joined only when the line ends, because a long line arrives
   * in many reads.
   */
  let held: string[] = [];
  let heldLength = 0;
  let endedInCr = false;
  let message: Partial<SseMessage> = {};
  const endEvent = () => {
    const { data } = message;
    if (data !== undefined) onMessage({ ...message, data });
    message = {};
  };
  const readLine = (line: string) => {
    const colon = line.indexOf(':');
    if (colon === 0) return onData(true);
    const field = colon < 0 ? line : line.slice(0, colon);
    const value =
      colon < 0 ? '' : line.slice(line.charAt(colon + 1) === ' ' ? colon + 2 : colon + 1);
    if (field === 'data')
      message.data = message.data === undefined ? value : `${message.data}\n${value}`;
    else if (field === 'event') message.event = value || undefined;
    else if (field === 'id' && !value.includes('\0')) message.id = value;
    else if (field === 'retry' && /^\d+$/.test(value)) onRetry(Number(value));
  };
  return (given) => {
    // A CRLF that is split between two reads counts as one line end.
    const text = endedInCr && given.startsWith('\n') ? given.slice(1) : given;
    if (given !== '') endedInCr = given.endsWith('\r');
    const unified = text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text;
    const end = unified.lastIndexOf('\n') + 1;
    if (end > 0) {
      const lines = held.join('') + unified.slice(0, end);
      held = [];
      heldLength = 0;
      for (let start = 0; start < lines.length; ) {
        const lineEnd = lines.indexOf('\n', start);
        if (lineEnd === start) endEvent();
        else readLine(lines.slice(start, lineEnd));
        start = lineEnd + 1;
      }
    }
    if (end < unified.length) held.push(unified.slice(end));
    heldLength += unified.length - end;
    if (heldLength + (message.data?.length ?? 0) > maxEventLength) throw tooLong();
  };
}

function tooLong(): ClientError {
  const message = `Cannot read the stream: an event is longer than ${maxEventLength} characters`;
  return new ClientError('bad_answer', message);
}
