import { jsonReply } from './replies.ts';
import { assertReply, type Reply, ScriptError } from './script.ts';
import type { ScriptedRequest } from './scripted-request.ts';

/** Makes the reply when the request is there. */
export type ReplyFunction = (request: ScriptedRequest) => Reply | Promise<Reply>;

export type ScriptedReply = Reply | ReplyFunction;

/** The replies that are left, and what happened that no reply was for. */
export class ReplyQueue {
  readonly #left: ScriptedReply[] = [];
  readonly #otherwise: ReplyFunction | undefined;
  readonly #surprises: string[] = [];

  constructor(otherwise?: ReplyFunction) {
    this.#otherwise = otherwise;
  }

  add(reply: ScriptedReply): void {
    if (typeof reply !== 'function') assertReply(reply);
    this.#left.push(reply);
  }

  /** The next reply. Never rejects: a request that goes wrong is refused, and told of in the end. */
  async take(request: ScriptedRequest): Promise<Reply> {
    const next = this.#left.shift() ?? this.#otherwise;
    const about = `${request.method} ${request.path}`;
    if (next === undefined) return this.#refuse(`No reply was left for ${about}`);
    try {
      const reply = typeof next === 'function' ? await next(request) : next;
      assertReply(reply);
      return reply;
    } catch (error) {
      return this.#refuse(`The reply to ${about} failed: ${messageOf(error)}`);
    }
  }

  /** Throws unless each reply was asked for and each request had one. */
  assertUsedUp(): void {
    const left = this.#left.length;
    const told =
      left === 0
        ? []
        : [`${left} scripted ${left === 1 ? 'reply was' : 'replies were'} never asked for`];
    const all = [...told, ...this.#surprises];
    if (all.length > 0) throw new ScriptError('not_as_scripted', all.join('; '), { left });
  }

  /** Keeps for the end what went another way than the script. */
  surprise(message: string): void {
    this.#surprises.push(message);
  }

  /** A status that nobody tries again. */
  #refuse(message: string): Reply {
    this.surprise(message);
    return jsonReply(400, { type: 'error', error: { type: 'scripted_server', message } });
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
