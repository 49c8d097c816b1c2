import { AgentError, type ToolContext } from '@millrace/agent';
import type { FormQuestion, JsonObject } from '@millrace/core';
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
  #open = 0;
  readonly #server: string;

  constructor(server: string) {
    this.#server = server;
  }

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

  /**
   * Asks the user to open the pages that a server needs before it can run a call. Returns true if the user
   * agrees to all of them.
   */
  async openPages(pages: readonly UrlQuestion[], signal: AbortSignal): Promise<boolean> {
    for (const page of pages.slice(0, maxPages)) {
      const { action } = await this.#answer({ ...page, mode: 'url' }, signal);
      if (action !== 'accept') return false;
    }
    return pages.length > 0 && pages.length <= maxPages;
  }

  async #answer(
    params: ElicitRequest['params'] | UrlQuestion,
    signal: AbortSignal,
  ): Promise<ElicitResult> {
    const form = formOf(params, this.#server);
    const call = this.#askingCall();
    if (call?.ask === undefined || this.#open >= maxOpen) return { action: 'cancel' };
    this.#open++;
    call.onAsking(true);
    try {
      const answer = await call.ask(form, signal);
      if (answer.action !== 'accept') return { action: answer.action };
      // The answer to a page has no content: what the user enters there is not for this program.
      if (params.mode === 'url') return { action: 'accept' };
      return { action: 'accept', content: answer.content as ElicitResult['content'] };
    } catch (error) {
      if (error instanceof AgentError && error.code === 'bad_input') throw refused(error.message);
      // The call or the question was cancelled.
      return { action: 'cancel' };
    } finally {
      this.#open--;
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

/** Maximum number of open questions of a server. Further questions are cancelled. */
const maxOpen = 16;

/** A page that the server asks the user to open. */
export interface UrlQuestion {
  readonly mode: 'url';
  readonly message: string;
  readonly url: string;
}

const maxPages = 3;
const maxUrlLength = 2_000;

/**
 * Returns the form for a question. For a page, the form has no fields: it shows the address, and the user agrees
 * or declines. This program does not open the page.
 */
function formOf(params: ElicitRequest['params'] | UrlQuestion, server: string): FormQuestion {
  if (params.mode !== 'url') {
    if (!('requestedSchema' in params)) throw refused('The question has no form');
    // The text could otherwise pretend to be a question of this program.
    const message = `The MCP server ${server} asks:\n\n${params.message}`;
    return { message, schema: params.requestedSchema as unknown as JsonObject };
  }
  const url = URL.parse(params.url);
  if (url === null || !/^https?:$/.test(url.protocol) || url.href.length > maxUrlLength)
    throw refused('This client shows only short http and https addresses');
  if (url.username !== '' || url.password !== '')
    throw refused('The address contains a user name, which can hide its host');
  const about = `The MCP server ${server} asks you to open a page of ${url.host}:\n${url.href}\n`;
  // The text of the server comes last. It could otherwise imitate the sentence about the page.
  const message = `${about}Agree after you have opened it. The text of the server:\n\n${params.message}`;
  return { message, schema: { type: 'object', properties: {} } };
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
