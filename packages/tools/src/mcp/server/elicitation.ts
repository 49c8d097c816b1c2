import { AgentError, type ToolContext } from '@millrace/agent';
import type { JsonObject } from '@millrace/core';
import {
  type Client,
  type ElicitRequest,
  type ElicitResult,
  ProtocolError,
  ProtocolErrorCode,
} from '@modelcontextprotocol/client';

/** A call during which the server may ask the user. */
export interface AskingCall {
  readonly session: ToolContext['session'];
  readonly ask: ToolContext['ask'];
  /** Called when a question of the server opens or closes. While it is open, no idle time limit applies. */
  onAsking(isAsking: boolean): void;
}

/**
 * Answers the questions (elicitation) of a server. MCP does not always say which call a question belongs
 * to. So a question is asked only if all running calls belong to one session. Otherwise a user could see
 * the question of another user's call.
 */
export class Elicitations {
  readonly #calls = new Set<AskingCall>();

  /** Adds a running call. Returns a function that removes it. */
  begin(call: AskingCall | undefined): () => void {
    if (call !== undefined) this.#calls.add(call);
    return () => {
      if (call !== undefined) this.#calls.delete(call);
    };
  }

  /** Lets this object answer the questions that a client receives. The client must declare `elicitation`. */
  serve(client: Client): void {
    client.setRequestHandler('elicitation/create', ({ params }, { mcpReq }) =>
      this.#answer(params, mcpReq.signal),
    );
  }

  async #answer(params: ElicitRequest['params'], signal: AbortSignal): Promise<ElicitResult> {
    if (params.mode === 'url' || !('requestedSchema' in params))
      throw refused('This client shows forms, and opens no addresses');
    const call = this.#askingCall();
    if (call?.ask === undefined) return { action: 'cancel' };
    call.onAsking(true);
    try {
      const { message, requestedSchema } = params;
      const schema = requestedSchema as unknown as JsonObject;
      const answer = await call.ask({ message, schema }, signal);
      if (answer.action !== 'accept') return { action: answer.action };
      return { action: 'accept', content: answer.content as ElicitResult['content'] };
    } catch (error) {
      if (error instanceof AgentError && error.code === 'bad_input') throw refused(error.message);
      // The call or the question was cancelled.
      return { action: 'cancel' };
    } finally {
      call.onAsking(false);
    }
  }

  /** Returns the latest call. Returns undefined if calls of several sessions run. */
  #askingCall(): AskingCall | undefined {
    const calls = [...this.#calls];
    const sessions = new Set(calls.map(({ session }) => session));
    return sessions.size === 1 ? calls.at(-1) : undefined;
  }
}

function refused(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}

/**
 * Limits the time without a message from the server. The time stands still while the server waits for an
 * answer of the user.
 */
export class IdleLimit {
  readonly #over = new AbortController();
  readonly #ms: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #asking = 0;

  constructor(ms: number) {
    this.#ms = ms;
    this.restart();
  }

  /** Aborts when the time is over. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  restart(): void {
    clearTimeout(this.#timer);
    if (this.#asking === 0) this.#timer = setTimeout(() => this.#over.abort(), this.#ms);
  }

  onAsking(isAsking: boolean): void {
    this.#asking += isAsking ? 1 : -1;
    this.restart();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
