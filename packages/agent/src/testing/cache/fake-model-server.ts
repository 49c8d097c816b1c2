import { type JsonObject, type SessionId, sessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import {
  errorReply,
  frameRecording,
  type WireAnswer,
  type WireName,
  wireEvents,
} from '@millrace/providers/scripted-server';
import type { VirtualClock } from '../virtual-time.ts';
import type { ResponsePlan } from './session-plans.ts';

/** A request as the server received it. */
export interface ReceivedRequest {
  readonly model: string;
  readonly body: JsonObject;
  readonly session: SessionId;
  /** The offset of the last record of the session when the request arrived. */
  readonly through: number;
  readonly isSummary: boolean;
}

/** The prompt for summaries. The server recognizes a request for a summary by this text. */
export const summaryPrompt = 'Write the summary of all that happened.';

/** Answers requests in the format of a wire, in virtual time, and keeps the requests. */
export class FakeModelServer {
  readonly #wire: WireName;
  readonly #log: Log;
  readonly #clock: VirtualClock;
  readonly #planned: ResponsePlan[] = [];
  #requests: ReceivedRequest[] = [];
  #session = sessionId('s');
  #count = 0;

  constructor(wire: WireName, log: Log, clock: VirtualClock) {
    this.#wire = wire;
    this.#log = log;
    this.#clock = clock;
  }

  get requests(): readonly ReceivedRequest[] {
    return this.#requests;
  }

  expect(planned: readonly ResponsePlan[]): void {
    this.#planned.splice(0, this.#planned.length, ...planned);
  }

  /** Removes the requests that were made after the record at which the process died. */
  dropAfter(through: number, into: SessionId): void {
    this.#requests = this.#requests.filter((request) => request.through <= through);
    this.#planned.splice(0);
    this.#session = into;
  }

  readonly fetch: typeof fetch = async (url, init) => {
    const text = String(init?.body);
    const body = JSON.parse(text) as JsonObject;
    const [, named] = /models\/([^/:]+):/.exec(String(url)) ?? [];
    const model = named ?? String(body['model']);
    const isSummary = text.includes(summaryPrompt);
    const { through = 0 } = (await this.#log.info(this.#session)) ?? {};
    this.#requests.push({ model, body, session: this.#session, through, isSummary });
    const next = isSummary ? undefined : this.#planned.shift();
    return this.#reply(next, text.length);
  };

  #reply(planned: ResponsePlan | undefined, length: number): Response {
    const number = ++this.#count;
    if (planned?.fault === 'overloaded') return this.#error(529, 'overloaded');
    if (planned?.fault === 'auth') return this.#error(401, 'authentication');
    if (planned?.fault === 'rejected')
      return this.#error(400, 'Invalid signature in thinking block');
    const answer = planned === undefined ? { text: `Answer ${number}` } : answerOf(planned, number);
    const usage = { input: Math.ceil(length / 20), output: 5 };
    const events = wireEvents(this.#wire, { id: `r${number}`, ...answer, usage });
    const bytes = frameRecording(this.#wire, events);
    const end = planned?.fault === 'cut' ? Math.floor(bytes.length * 0.6) : bytes.length;
    const half = Math.floor(end / 2);
    const chunks = [bytes.slice(0, half), bytes.slice(half, end)];
    const headers = { 'content-type': 'text/event-stream' };
    return new Response(ReadableStream.from(this.#slowly(chunks)), { headers });
  }

  async *#slowly(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
    for (const chunk of chunks) {
      await new Promise<void>((resolve) => this.#clock.after(40, resolve));
      yield chunk;
    }
  }

  #error(status: number, message: string): Response {
    const reply = errorReply(this.#wire, status, { type: 'error', message });
    return new Response(String(reply.steps[0]), { status, headers: reply.headers ?? {} });
  }
}

function answerOf({ reasoning, text, calls: planned }: ResponsePlan, number: number): WireAnswer {
  const toolCalls = planned.map(({ tool, id }, index) => {
    const ids = { new: `c${number}_${index}`, odd: `call ${number}|fc_${index}`, same: 'c' };
    return { id: ids[id], name: tool, arguments: '{}' };
  });
  return {
    ...(reasoning !== '' && { reasoning, signature: `signature-${number}` }),
    ...(text !== '' && { text }),
    ...(toolCalls.length > 0 && { toolCalls }),
  };
}
