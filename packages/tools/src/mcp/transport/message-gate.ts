import type {
  JSONRPCErrorResponse,
  JSONRPCMessage,
  JSONRPCNotification,
  JSONRPCRequest,
  JSONRPCResultResponse,
} from '@modelcontextprotocol/client';
import { sizeOf } from './json-values.ts';

/** Maximum number of elements of a list: of the parts of a result, and of the elements of all pages together. */
export const maxListed = 1_000;
/**
 * Maximum number of values in a result, without its structured content. The schemas of the SDK check each of them.
 * They do not check structured content.
 */
const maxCheckedValues = 100_000;
/** Maximum number of values in a request, a notification or an error. Forms for the user are the largest ones. */
const maxRequestValues = 5_000;
/** Maximum number of questions that a server of the revision of 2026 can ask at once. */
const maxQuestions = 16;

/** The pages of a list that were already received. */
interface Pages {
  items: number;
  values: number;
  length: number;
}

/** Maximum number of answers to requests of the server that it does not accept. */
const maxOpenAnswers = 32;
/** Maximum number of requests of the server in a row, such as pings and questions. */
const maxRequestBurst = 100;
/** Further requests can come at this rate. */
const requestsPerSecond = 10;

/**
 * All messages of a connection pass through this gate. The gate limits what a server can send in total, because the
 * limits of one message do not limit the work:
 *
 * - The pages of a list together have the limits of one message.
 * - The schemas of the SDK need up to 0.1 ms for each part of a result. So the number of parts is limited, and the number
 *   of values that schemas check.
 * - The client must answer each request of the server. So the number of requests, and of answers that the server does
 *   not accept, is limited.
 */
export class MessageGate {
  readonly #maxLength: number;
  readonly #refuse: (error: Error) => void;
  readonly #requests = new RateLimit(maxRequestBurst, requestsPerSecond);
  #openAnswers = 0;
  #isRefused = false;
  // The lists that are being read, by the id of the request for the next page.
  readonly #requested = new Map<string | number, Pages>();
  readonly #lists = new Map<string, Pages>();

  /** Calls `refuse` once if the connection must close. */
  constructor(maxLength: number, refuse: (error: Error) => void) {
    this.#maxLength = maxLength;
    this.#refuse = refuse;
  }

  /** Sends a message to the server. The promise of `send` must end, also if the server does not accept the message. */
  async send(message: JSONRPCMessage, send: () => Promise<void>): Promise<void> {
    if ('method' in message) {
      this.#noteList(message);
      return send();
    }
    if (++this.#openAnswers > maxOpenAnswers)
      this.#close(`It does not accept the answers to ${maxOpenAnswers} of its requests`);
    try {
      await send();
    } finally {
      this.#openAnswers--;
    }
  }

  #noteList(message: JSONRPCMessage): void {
    if (!('method' in message && 'id' in message) || !message.method.endsWith('/list')) return;
    const { method, params, id } = message;
    const before = params?.['cursor'] === undefined ? undefined : this.#lists.get(method);
    const pages = before ?? { items: 0, values: 0, length: 0 };
    this.#lists.set(method, pages);
    this.#requested.set(idOf(id), pages);
  }

  #close(why: string): void {
    if (this.#isRefused) return;
    this.#isRefused = true;
    this.#refuse(new Error(why));
  }

  /** Returns a message of the server as the SDK may read it. Returns undefined if the SDK may not read it. */
  received(message: JSONRPCMessage): JSONRPCMessage | undefined {
    if ('method' in message && 'id' in message && !this.#requests.take())
      this.#close(`It sent more than ${maxRequestBurst} requests without a pause`);
    if (this.#isRefused) return undefined;
    if ('method' in message) return this.#receivedRequest(message);
    return 'result' in message ? this.#receivedResult(message) : withBoundedError(message);
  }

  #receivedRequest(message: JSONRPCRequest | JSONRPCNotification): JSONRPCMessage | undefined {
    if (sizeOf(message).values <= maxRequestValues) return message;
    if ('id' in message) this.#close(`It sent a request of more than ${maxRequestValues} values`);
    return undefined;
  }

  #receivedResult(message: JSONRPCResultResponse): JSONRPCMessage {
    const id = idOf(message.id);
    const pages = this.#requested.get(id);
    this.#requested.delete(id);
    const { structuredContent, ...checked } = message.result;
    // One more than the limit shows that there were more.
    for (const [key, list] of Object.entries(checked))
      if (Array.isArray(list)) checked[key] = list.slice(0, maxListed + 1);
    // A list has no structured content, so its content counts like other fields.
    const size = sizeOf(pages === undefined ? checked : [checked, structuredContent ?? null]);
    if (size.values > maxCheckedValues)
      return failed(message, `Its result has more than ${maxCheckedValues} values`);
    if (isTooMuchToAsk(checked['inputRequests']))
      return failed(message, 'It asks for too much at once');
    if (pages !== undefined) {
      pages.values += size.values;
      pages.length += size.length;
      if (pages.values > maxCheckedValues || pages.length > this.#maxLength)
        return failed(message, 'All pages of its list together are larger than one message may be');
      for (const list of Object.values(checked))
        if (Array.isArray(list)) pages.items += list.length;
      if (pages.items > maxListed) delete checked['nextCursor'];
    }
    return {
      ...message,
      result: { ...checked, ...(structuredContent !== undefined && { structuredContent }) },
    };
  }
}

function isTooMuchToAsk(questions: unknown): boolean {
  if (typeof questions !== 'object' || questions === null) return false;
  return (
    Object.keys(questions).length > maxQuestions || sizeOf(questions).values > maxRequestValues
  );
}

/** Allows a number of actions in a row, and further actions at a steady rate. */
export class RateLimit {
  readonly #burst: number;
  readonly #perSecond: number;
  #left: number;
  #countedAt = performance.now();

  constructor(burst: number, perSecond: number) {
    this.#burst = burst;
    this.#perSecond = perSecond;
    this.#left = burst;
  }

  /** Counts an action. Returns false if it comes too early. */
  take(): boolean {
    const now = performance.now();
    const won = ((now - this.#countedAt) / 1000) * this.#perSecond;
    this.#countedAt = now;
    this.#left = Math.max(Math.min(this.#burst, this.#left + won) - 1, -1);
    return this.#left >= 0;
  }
}

/** Returns an id as the SDK compares it: as a number, except an id such as `listen-1`. */
export function idOf(id: unknown): string | number {
  const number = Number(id);
  return Number.isNaN(number) ? String(id) : number;
}

function failed({ jsonrpc, id }: JSONRPCResultResponse, message: string): JSONRPCMessage {
  return { jsonrpc, id, error: { code: -32_000, message } };
}

function withBoundedError(message: JSONRPCErrorResponse): JSONRPCMessage {
  const { code, message: why } = message.error;
  const isBounded = sizeOf(message.error).values <= maxRequestValues;
  return isBounded ? message : { ...message, error: { code, message: why } };
}
