import { createHash } from 'node:crypto';
import { isJsonObject, type JsonObject, type SessionId } from '@millrace/core';
import { encodeComment, encodeFrame, sseHeaders } from '@millrace/core/streams';
import { LogError } from '@millrace/log';
import type { HttpResponse } from '../../../contract/http.ts';
import { type RouteContext, StreamReply } from '../../../http/route.ts';
import { writeLines } from '../../../http/write-lines.ts';
import type { McpOptions } from '../mcp-options.ts';
import type { McpCaller } from '../protocol/caller.ts';
import { invalidParams, McpError, mcpCodes } from '../protocol/rpc-message.ts';
import { maxUriLength } from '../resources.ts';
import {
  type ConnectionState,
  changeConnection,
  connectionSession,
  foldConnection,
  noChanges,
  untilCreated,
} from './connection.ts';
import { findWatched } from './watch.ts';

/** The offsets of sessions up to which a client has heard about changes, by the hashes of their addresses. */
type SeenOffsets = Readonly<Record<string, number>>;

/** A notification with the id of its event. */
interface Update {
  readonly id: string;
  readonly message: object;
}

/** Starts to follow a resource for a connection. The stream of the connection reports its changes. */
export async function subscribe(
  uri: unknown,
  options: McpOptions,
  caller: McpCaller,
  context: RouteContext,
): Promise<void> {
  const address = readUri(uri);
  const watched = await findWatched(address, options, context);
  if (watched === undefined)
    throw new McpError(mcpCodes.noResource, 'Cannot follow this resource', {
      data: { uri: address },
    });
  const { through: from } = watched;
  await changeConnection(caller, { type: 'mcp_subscribed', uri: address, from }, context);
}

/** Stops to follow a resource. A resource that the connection does not follow is ignored. */
export async function unsubscribe(
  uri: unknown,
  caller: McpCaller,
  context: RouteContext,
): Promise<void> {
  await changeConnection(caller, { type: 'mcp_unsubscribed', uri: readUri(uri) }, context);
}

function readUri(uri: unknown): string {
  if (typeof uri === 'string' && uri.length <= maxUriLength) return uri;
  throw invalidParams('Cannot follow a resource: uri is not a text, or it is too long');
}

/**
 * Opens the stream of a connection of a version before 2026-07-28. The stream reports changes of the resources that
 * the connection follows. `lastId` is the id of the last event that the client has.
 */
export function connectionStream(
  connection: string,
  lastId: string | undefined,
  options: McpOptions,
  context: RouteContext,
): StreamReply {
  const { clock, closing } = context;
  const session = connectionSession(connection, context);
  const write = async (response: HttpResponse) => {
    const left = new AbortController();
    const leave = () => left.abort();
    response.once('close', leave);
    closing.addEventListener('abort', leave, { once: true });
    if (response.destroyed || closing.aborted) leave();
    try {
      response.writeHead(200, { ...sseHeaders });
      response.flushHeaders();
      await writeLines(
        response,
        updates(session, parseSeen(lastId), options, context, left.signal),
        {
          context,
          errorLine: () => `${encodeComment('The stream ends because of an error')}\n`,
          line: ({ id, message }) => encodeFrame({ id, data: JSON.stringify(message) }),
          heartbeat: { clock, everyMs: 15_000, text: `${encodeComment('ping')}\n` },
        },
      );
    } finally {
      leave();
      response.off('close', leave);
      closing.removeEventListener('abort', leave);
    }
  };
  return new StreamReply(write, { isRefusable: true });
}

/** Yields a notification for each change of a resource that the connection follows. */
async function* updates(
  session: SessionId,
  seen: SeenOffsets,
  options: McpOptions,
  context: RouteContext,
  signal: AbortSignal,
): AsyncGenerator<Update> {
  const reached = { ...seen };
  const watches = new Watches(options, reached, context, signal);
  void watches.follow(session);
  for (;;) {
    for (const [uri, through] of await watches.changed()) {
      if (through > 0) reached[uriHash(uri)] = through;
      const message = {
        jsonrpc: '2.0',
        method: 'notifications/resources/updated',
        params: { uri },
      };
      yield { id: seenId(reached), message };
    }
    if (signal.aborted) return;
  }
}

/**
 * Follows the log of a connection, and the resources that it names. The changed resources are a set, so a slow
 * client needs no more memory than a fast one.
 */
class Watches {
  readonly #options: McpOptions;
  readonly #seen: SeenOffsets;
  readonly #context: RouteContext;
  readonly #signal: AbortSignal;
  readonly #open = new Map<string, AbortController>();
  readonly #changed = new Map<string, number>();
  #failure: unknown;
  #wake = Promise.withResolvers<void>();

  constructor(options: McpOptions, seen: SeenOffsets, context: RouteContext, signal: AbortSignal) {
    this.#options = options;
    this.#seen = seen;
    this.#context = context;
    this.#signal = signal;
    signal.addEventListener('abort', () => this.#wake.resolve(), { once: true });
  }

  /** Resolves with the resources that have changed since the call before. Empty if the signal was aborted. */
  async changed(): Promise<readonly (readonly [uri: string, through: number])[]> {
    if (!this.#signal.aborted) await this.#wake.promise;
    if (this.#failure !== undefined) throw this.#failure;
    const changed = [...this.#changed];
    this.#changed.clear();
    this.#wake = Promise.withResolvers();
    if (this.#signal.aborted) this.#wake.resolve();
    return changed;
  }

  /** Follows the log of the connection. Each change starts or stops a reader. */
  async follow(session: SessionId): Promise<void> {
    const { log } = this.#context;
    try {
      while (await untilCreated(session, this.#context, this.#signal)) {
        let state: ConnectionState = noChanges;
        try {
          for await (const { records } of log.follow(session, { signal: this.#signal })) {
            state = records.reduce(foldConnection, state);
            await this.#apply(state);
          }
        } catch (error) {
          // The log of an old connection is deleted after some time.
          if (!(error instanceof LogError) || error.code !== 'no_session') throw error;
          await this.#apply(noChanges);
        }
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  async #apply({ subscriptions }: ConnectionState): Promise<void> {
    for (const [uri, reader] of this.#open)
      if (!Object.hasOwn(subscriptions, uri)) {
        reader.abort();
        this.#open.delete(uri);
        this.#changed.delete(uri);
      }
    for (const [uri, from] of Object.entries(subscriptions)) {
      if (this.#open.has(uri)) continue;
      const reader = new AbortController();
      this.#open.set(uri, reader);
      // The rights of the caller can have changed since the subscription.
      const watched = await findWatched(uri, this.#options, this.#context);
      if (watched === undefined) continue;
      const start = Math.min(Math.max(from, this.#seen[uriHash(uri)] ?? 0), watched.through);
      const signal = AbortSignal.any([this.#signal, reader.signal]);
      void this.#read(uri, watched.watch(start, signal), signal);
    }
  }

  async #read(uri: string, changes: AsyncIterable<number>, signal: AbortSignal): Promise<void> {
    try {
      for await (const through of changes) {
        if (signal.aborted) return;
        this.#changed.set(uri, through);
        this.#wake.resolve();
      }
    } catch (error) {
      if (!signal.aborted) this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    this.#failure = error;
    this.#wake.resolve();
  }
}

function uriHash(uri: string): string {
  return createHash('sha256').update(uri).digest('base64url').slice(0, 12);
}

/** Returns the id of an event. It contains all that is needed to continue the stream in any process. */
function seenId(seen: SeenOffsets): string {
  return `c.${Buffer.from(JSON.stringify(seen)).toString('base64url')}`;
}

/** Returns whether the id of an event belongs to the stream of a connection. */
export function isConnectionEvent(id: string): boolean {
  return id.startsWith('c.');
}

/** Reads the id of an event. After an unknown id, the server reports all changes again. */
function parseSeen(id: string | undefined): SeenOffsets {
  try {
    const text = Buffer.from(id?.slice(2) ?? '', 'base64url').toString('utf8');
    const value = JSON.parse(text) as JsonObject;
    if (!isJsonObject(value)) return {};
    const numbers = Object.entries(value).filter(([, at]) => Number.isSafeInteger(at));
    return Object.fromEntries(numbers) as SeenOffsets;
  } catch {
    return {};
  }
}
