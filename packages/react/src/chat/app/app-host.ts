import { isJsonObject, type JsonObject, type JsonValue } from '@millrace/core';

/** The revision of the protocol between an app and its host. */
const protocolVersion = '2026-01-26';

/** Maximum length of a message of an app, as JSON. */
const maxMessageLength = 256 * 1024;
/** An app can send this many messages at once, and this many in each second after that. */
const burst = 120;
const perSecond = 30;
/** An app that sends this many messages beyond the limit is closed. */
const maxDropped = 300;
/** Maximum number of requests that wait for an answer at the same time. */
const maxOpen = 8;

/** The services that the page provides for an app. */
export interface AppServices {
  /** Sends a message to the app. */
  readonly post: (message: JsonObject) => void;
  /** Returns the theme, the language and the size of the page. */
  readonly context: () => JsonObject;
  /** The names of the tools that the app can call. Empty if it can call none. */
  readonly tools: readonly string[];
  /** Called when the app can receive the input and the result of its tool. */
  readonly onInitialized: () => void;
  /** Called when the app wants another height, in pixels. */
  readonly onHeight: (height: number) => void;
  /** Asks the user whether to open an address. Resolves with false if it was not opened. */
  readonly openLink: (url: string) => Promise<boolean>;
  /** Asks the user whether to put a text into the field for messages. Resolves with false if it was refused. */
  readonly compose: (text: string) => Promise<boolean>;
  /** Calls a tool of the server of the app. Rejects with an error for the app. */
  readonly callTool: (name: string, given: JsonObject) => Promise<JsonObject>;
  /** Called when the app exceeds its limits. The page then closes it. */
  readonly onAbuse: () => void;
  /** Returns the time in milliseconds. Default: the clock of the browser. */
  readonly now?: (() => number) | undefined;
}

/** An error that the app receives, with a code of JSON-RPC. */
class Refusal extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

const codes = { invalid: -32_600, unknown: -32_601, params: -32_602, refused: -32_000 } as const;

/**
 * The host side of the MCP apps protocol. It answers the messages of one app, which is untrusted. Messages that
 * are too large, too many or malformed have no effect.
 */
export class AppHost {
  readonly #services: AppServices;
  readonly #now: () => number;
  #left = burst;
  #filledAt: number;
  #dropped = 0;
  #open = 0;
  #isClosed = false;

  constructor(services: AppServices) {
    this.#services = services;
    this.#now = services.now ?? (() => performance.now());
    this.#filledAt = this.#now();
  }

  /** Sends a notification to the app. */
  notify(method: string, params: JsonObject): void {
    if (!this.#isClosed) this.#services.post({ jsonrpc: '2.0', method, params });
  }

  /** Ignores all further messages and answers. */
  close(): void {
    this.#isClosed = true;
  }

  /** Handles a message of the app. */
  receive(data: unknown): void {
    if (this.#isClosed) return;
    const message = this.#take() ? readMessage(data) : undefined;
    if (message === undefined) {
      this.#dropped += 1;
      if (this.#dropped < maxDropped) return;
      this.close();
      this.#services.onAbuse();
      return;
    }
    const { id, method, params } = message;
    if (id === undefined) this.#onNotification(method, params);
    else void this.#reply(id, method, params);
  }

  /** Counts a message. Returns false if the app has sent too many. */
  #take(): boolean {
    const now = this.#now();
    this.#left = Math.min(burst, this.#left + ((now - this.#filledAt) / 1000) * perSecond);
    this.#filledAt = now;
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }

  #onNotification(method: string, params: JsonObject): void {
    const { onInitialized, onHeight } = this.#services;
    const { height } = params;
    if (method === 'ui/notifications/initialized') onInitialized();
    if (method === 'ui/notifications/size-changed' && typeof height === 'number' && height >= 0)
      onHeight(height);
  }

  async #reply(id: string | number, method: string, params: JsonObject): Promise<void> {
    const answer = await this.#answer(method, params).then(
      (result) => ({ result }),
      (error: unknown) => ({
        error: {
          code: error instanceof Refusal ? error.code : codes.refused,
          message: error instanceof Error ? error.message : 'The request failed',
        },
      }),
    );
    if (!this.#isClosed) this.#services.post({ jsonrpc: '2.0', id, ...answer });
  }

  async #answer(method: string, params: JsonObject): Promise<JsonObject> {
    if (this.#open >= maxOpen)
      throw new Refusal(codes.refused, `More than ${maxOpen} requests wait for an answer`);
    this.#open += 1;
    try {
      return await this.#handle(method, params);
    } finally {
      this.#open -= 1;
    }
  }

  async #handle(method: string, params: JsonObject): Promise<JsonObject> {
    const { context, tools, openLink, compose, callTool } = this.#services;
    switch (method) {
      case 'ui/initialize':
        return {
          ...{ protocolVersion, hostInfo: { name: 'millrace', version: '1' } },
          hostCapabilities: {
            ...{ openLinks: {}, message: { text: {} } },
            ...(tools.length > 0 && { serverTools: {} }),
          },
          hostContext: context(),
        };
      case 'ping':
        return {};
      case 'ui/open-link': {
        const { url } = params;
        if (typeof url !== 'string') throw new Refusal(codes.params, 'url is not a text');
        return (await openLink(url)) ? {} : { isError: true };
      }
      case 'ui/message': {
        const text = messageText(params['content']);
        if (text === '') throw new Refusal(codes.params, 'The message contains no text');
        return (await compose(text)) ? {} : { isError: true };
      }
      case 'ui/request-display-mode':
        return { mode: 'inline' };
      case 'tools/call': {
        const { name, arguments: given = {} } = params;
        if (typeof name !== 'string' || !isJsonObject(given))
          throw new Refusal(codes.params, 'The call needs a name and arguments');
        if (!tools.includes(name))
          throw new Refusal(codes.params, `This app cannot call a tool ${name.slice(0, 100)}`);
        return callTool(name, given);
      }
      default:
        throw new Refusal(codes.unknown, `This host does not support ${method.slice(0, 100)}`);
    }
  }
}

interface AppMessage {
  /** Undefined for a notification. */
  readonly id: string | number | undefined;
  readonly method: string;
  readonly params: JsonObject;
}

/** Reads a request or a notification. Returns undefined for everything else. */
function readMessage(data: unknown): AppMessage | undefined {
  const copy = jsonCopy(data);
  if (!isJsonObject(copy)) return undefined;
  const { jsonrpc, id, method, params = {} } = copy;
  if (jsonrpc !== '2.0' || typeof method !== 'string' || !isJsonObject(params)) return undefined;
  if (id !== undefined && typeof id !== 'string' && typeof id !== 'number') return undefined;
  return { id, method, params };
}

/**
 * Returns the message as plain JSON. A message can contain cycles, files and buffers, and those are refused.
 */
function jsonCopy(data: unknown): JsonValue | undefined {
  try {
    const text = JSON.stringify(data);
    return text.length <= maxMessageLength ? (JSON.parse(text) as JsonValue) : undefined;
  } catch {
    return undefined;
  }
}

const maxTextLength = 20_000;

/**
 * Characters that no field shows, such as tags and controls. A model can read a text in them. Joiners and
 * selectors of emoji stay, because texts need them, and the question about the text shows them.
 */
const hidden = /(?!\n|\t|\u200c|\u200d|\ufe0f)[\p{Default_Ignorable_Code_Point}\p{C}]/gu;

function messageText(content: JsonValue | undefined): string {
  const blocks = Array.isArray(content) ? content : [content];
  const texts = blocks.flatMap((block) =>
    isJsonObject(block) && block['type'] === 'text' && typeof block['text'] === 'string'
      ? [block['text']]
      : [],
  );
  return texts.join('\n').slice(0, maxTextLength).replaceAll(hidden, '').trim();
}
