import { encodeEvent, type FoldState, type LogRecord, type View } from '@millrace/core';
import {
  encodeChunk,
  encodeFrame,
  finishChunks,
  recordChunks,
  restateMessage,
  restateStep,
  type UiChunk,
  uiDone,
  uiHeaders,
  waitsForApproval,
} from '@millrace/core/streams';
import { AgentError } from '../contract/agent-error.ts';
import type { Run, RunResult, UiStreamOptions } from '../contract/run.ts';
import { type RunEventSource, runEvents, runView } from './run-views.ts';

/** The methods of `Run` that return streams. */
type RunStreams = Pick<Run, 'toReadableStream' | 'toEventStream' | 'toUIMessageStreamResponse'>;

/** Creates the streams of a run from its records on the log. */
export function runStreams(source: RunEventSource, result: Promise<RunResult>): RunStreams {
  return {
    toReadableStream: () => toStream((left) => runEvents({ ...source, left })),
    toEventStream: () => toStream((left) => eventFrames({ ...source, left })),
    toUIMessageStreamResponse: (options) => uiResponse(source, result, options),
  };
}

async function* eventFrames(source: RunEventSource): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  for await (const event of runEvents(source))
    yield encoder.encode(encodeFrame({ id: `${event.offset}`, data: encodeEvent(event) }));
}

function uiResponse(
  source: RunEventSource,
  result: Promise<RunResult>,
  { messageId, headers, ...unknown }: UiStreamOptions = {},
): Response {
  const [name] = Object.keys(unknown);
  if (name !== undefined) throw unknownOption(name);
  const encoder = new TextEncoder();
  const body = toStream(async function* (left) {
    for await (const chunk of messageOf({ ...source, left }, result, messageId))
      yield encoder.encode(encodeFrame({ data: encodeChunk(chunk) }));
    if (!left.aborted) yield encoder.encode(encodeFrame({ data: uiDone }));
  });
  return new Response(body, { headers: { ...headers, ...uiHeaders } });
}

/** A record with the states before and after it. */
interface Step {
  readonly before: FoldState;
  readonly record: LogRecord;
  readonly after: FoldState;
}

const stepView: View<Step> = (before, record, after) => [{ before, record, after }];

/**
 * The chunks of one message. Follow-ups start further runs; they continue the message, so the end of a
 * run is sent only when nothing follows it.
 */
async function* messageOf(
  source: RunEventSource,
  result: Promise<RunResult>,
  messageId: string | undefined,
): AsyncGenerator<UiChunk> {
  const initial = await source.initialState.catch(() => undefined);
  const message = new MessageStream(messageId);
  // A client that shows the message already has the records up to here.
  const shownThrough = messageId === undefined ? (initial?.through ?? 0) : source.through();
  if (initial !== undefined && shownThrough <= initial.through) yield* message.open(initial);
  if (message.isWaiting) return yield* finishChunks({ reason: 'parked' });
  for await (const step of runView(source, stepView)) {
    if (step.record.offset < shownThrough) continue;
    if (step.record.offset === shownThrough) yield* message.open(step.after);
    else yield* message.add(step);
    if (message.isWaiting) return yield* finishChunks({ reason: 'parked' });
  }
  // Without an end on the log, the run could not start, or another process has it now.
  if (!source.left?.aborted) yield* message.end ?? finishChunks((await result).stop);
}

/** Converts the records of one or more runs to the chunks of one message. */
class MessageStream {
  readonly #messageId: string | undefined;
  #isStarted = false;
  /** Calls that waited when the stream began. A client that shows the message has answered them. */
  #answered: ReadonlySet<string> = new Set();
  /** True if the run waits for an approval. Clients send their answer after the stream has ended. */
  isWaiting = false;
  /** The last chunks, if no further run starts. */
  end: readonly UiChunk[] | undefined;

  constructor(messageId: string | undefined) {
    this.#messageId = messageId;
  }

  /** Starts within a run: with the whole message, or with its last step if the client shows it. */
  open(state: FoldState): readonly UiChunk[] {
    if (state.run === undefined || this.#isStarted) return [];
    this.#isStarted = true;
    if (this.#messageId === undefined) {
      this.isWaiting = waitsForApproval(state);
      return restateMessage(state);
    }
    this.#answered = new Set(state.asked.map(({ toolCallId }) => toolCallId));
    return [{ type: 'start', messageId: this.#messageId }, ...restateStep(state)];
  }

  add({ before, record, after }: Step): readonly UiChunk[] {
    const opening = this.open(before);
    const chunks = recordChunks(before, record, after);
    const type = record.fact?.type;
    if (type === 'run_finished') {
      this.end = chunks;
      return opening;
    }
    if (type === 'run_started') return this.#start(chunks);
    const isOpen = after.asked.some(({ toolCallId }) => this.#answered.has(toolCallId));
    this.isWaiting = !isOpen && waitsForApproval(after);
    return opening.length === 0 ? chunks : [...opening, ...chunks];
  }

  #start(chunks: readonly UiChunk[]): readonly UiChunk[] {
    this.end = undefined;
    const isFirst = !this.#isStarted;
    this.#isStarted = true;
    if (!isFirst) return [];
    const messageId = this.#messageId;
    return messageId === undefined ? chunks : [{ type: 'start', messageId }];
  }
}

/** A stream that takes the next value when its reader wants one. */
function toStream<T>(read: (left: AbortSignal) => AsyncGenerator<T>): ReadableStream<T> {
  const left = new AbortController();
  const values = read(left.signal);
  return new ReadableStream<T>(
    {
      async pull(controller) {
        const next = await values.next();
        if (left.signal.aborted) return;
        if (next.done) controller.close();
        else controller.enqueue(next.value);
      },
      cancel() {
        left.abort();
      },
    },
    { highWaterMark: 0 },
  );
}

function unknownOption(name: string): AgentError {
  const message = `Cannot create the response: there is no option ${JSON.stringify(name).slice(0, 100)}. Use messageId or headers`;
  return new AgentError('bad_option', message);
}
