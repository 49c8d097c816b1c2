import { jsonReply } from './replies.ts';
import { assertReply, type Reply, ScriptedServerError } from './script.ts';
import type { ScriptedRequest } from './scripted-request.ts';

/** A function that creates a reply after the request has arrived. */
export type ReplyFunction = (request: ScriptedRequest) => Reply | Promise<Reply>;

/** A fixed reply, or a function that creates one from the request. */
export type ScriptedReply = Reply | ReplyFunction;

/** The queued replies, and a list of all differences between the requests and the script. */
export class ReplyQueue {
  readonly #queued: ScriptedReply[] = [];
  readonly #fallback: ReplyFunction | undefined;
  readonly #deviations: string[] = [];

  constructor(fallback?: ReplyFunction) {
    this.#fallback = fallback;
  }

  add(reply: ScriptedReply): void {
    if (typeof reply !== 'function') assertReply(reply);
    this.#queued.push(reply);
  }

  /**
   * Returns the next reply. It never rejects. If there is no valid reply, it returns an error reply, and
   * `assertUsedUp` reports the problem later.
   */
  async take(request: ScriptedRequest): Promise<Reply> {
    const next = this.#queued.shift() ?? this.#fallback;
    const about = `${request.method} ${request.path}`;
    if (next === undefined) return this.#refuse(`No scripted reply is left for ${about}`);
    try {
      const reply = typeof next === 'function' ? await next(request) : next;
      assertReply(reply);
      return reply;
    } catch (error) {
      return this.#refuse(`The reply to ${about} failed: ${errorMessage(error)}`);
    }
  }

  /** Throws if a reply was not used, or if a request had no reply. */
  assertUsedUp(): void {
    const left = this.#queued.length;
    const unused =
      left === 0
        ? []
        : [`${left} scripted ${left === 1 ? 'reply was' : 'replies were'} never used`];
    const all = [...unused, ...this.#deviations];
    if (all.length > 0) throw new ScriptedServerError('not_as_scripted', all.join('; '), { left });
  }

  /** Stores a difference from the script. `assertUsedUp` reports it. */
  reportDeviation(message: string): void {
    this.#deviations.push(message);
  }

  /** Returns an error reply. It has the status 400, because clients do not retry after this status. */
  #refuse(message: string): Reply {
    this.reportDeviation(message);
    return jsonReply(400, { type: 'error', error: { type: 'scripted_server', message } });
  }
}

export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
