import { jsonReply } from './replies.ts';
import { assertReply, type Reply, ScriptError } from './script.ts';
import type { ScriptedRequest } from './scripted-request.ts';

/** Makes the reply when the request is there. */
export type ReplyFunction = (request: ScriptedRequest) => Reply | Promise<Reply>;

export type ScriptedReply = Reply | ReplyFunction;

/** The replies that are left, and what happened that no reply was for. */
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

  /** The next reply. Never rejects: a request that goes wrong is refused, and told of in the end. */
  async take(request: ScriptedRequest): Promise<Reply> {
    const next = this.#queued.shift() ?? this.#fallback;
    const about = `${request.method} ${request.path}`;
    if (next === undefined) return this.#refuse(`No reply was left for ${about}`);
    try {
      const reply = typeof next === 'function' ? await next(request) : next;
      assertReply(reply);
      return reply;
    } catch (error) {
      return this.#refuse(`The reply to ${about} failed: ${errorMessage(error)}`);
    }
  }

  /** Throws unless each reply was asked for and each request had one. */
  assertUsedUp(): void {
    const left = this.#queued.length;
    const unused =
      left === 0
        ? []
        : [`${left} scripted ${left === 1 ? 'reply was' : 'replies were'} never asked for`];
    const all = [...unused, ...this.#deviations];
    if (all.length > 0) throw new ScriptError('not_as_scripted', all.join('; '), { left });
  }

  /** Keeps for the end what went another way than the script. */
  reportDeviation(message: string): void {
    this.#deviations.push(message);
  }

  /** A status that nobody tries again. */
  #refuse(message: string): Reply {
    this.reportDeviation(message);
    return jsonReply(400, { type: 'error', error: { type: 'scripted_server', message } });
  }
}

export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
