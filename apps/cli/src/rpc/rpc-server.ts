import { isId, type JsonObject, MillraceError, randomIds, type SessionId } from '@millrace/core';
import { openAgent } from '../command/open-agent.ts';
import { resolveWorkFolder } from '../command/paths.ts';
import { loadConfig } from '../config/load-config.ts';
import type { ChosenModel } from '../contract/agent.ts';
import type { RpcArgs } from '../contract/args.ts';
import type { Config } from '../contract/config.ts';
import { ModelError } from '../contract/errors.ts';
import type { Host } from '../contract/host.ts';
import { chooseModel } from '../models/choose-model.ts';
import { version } from '../package-files.ts';
import { Stores } from '../store/open-stores.ts';
import { listSummaries } from '../store/session-summaries.ts';
import {
  errorCodes,
  type Method,
  methodNames,
  type ParamsOf,
  RpcError,
  type RpcRequest,
  readParams,
  readRequest,
  rpcVersion,
} from './rpc-protocol.ts';
import { RpcSession } from './rpc-session.ts';

interface RpcServerOptions {
  readonly args: RpcArgs;
  readonly host: Pick<Host, 'env' | 'signal' | 'cwd'>;
  /** Writes one line. The promise resolves when the client has taken it. */
  readonly write: (line: string) => Promise<void>;
  readonly onProblem: (problem: string) => void;
}

/** Maximum number of sessions that are open at the same time. */
const maxSessions = 64;
/** Maximum number of requests that are being answered. Further requests are read after one is answered. */
const maxRequests = 256;
/** The number of sessions in one answer of `session.list`. */
const pageSize = 50;
const ids = randomIds((bytes) => crypto.getRandomValues(bytes));

/** The sessions of one client, and the methods that the client calls. */
export class RpcServer {
  readonly #options: RpcServerOptions;
  readonly #stores: Stores;
  readonly #sessions = new Map<string, RpcSession>();
  readonly #requests = new Set<Promise<void>>();
  /** Sessions that are being opened. They count for the limit. */
  readonly #opening = new Set<string>();
  #isInitialized = false;

  constructor(options: RpcServerOptions) {
    this.#options = options;
    this.#stores = new Stores(options.host.env);
  }

  /**
   * Handles one line of the client. Requests run at the same time, so that a stop does not wait for a
   * message. The promise resolves when the next line may be read.
   */
  async handle(line: string): Promise<void> {
    if (line.trim() === '') return;
    const work = this.#answer(line);
    this.#requests.add(work);
    void work.finally(() => this.#requests.delete(work));
    if (this.#requests.size >= maxRequests) await Promise.race(this.#requests);
  }

  /** Stops all runs, and closes all sessions and stores. */
  async close(): Promise<void> {
    await Promise.all(Array.from(this.#sessions.values(), (each) => each.close().catch(() => {})));
    this.#sessions.clear();
    await Promise.all(this.#requests);
    await this.#stores.close();
  }

  async #answer(line: string): Promise<void> {
    let id: RpcRequest['id'] | null = null;
    try {
      const request = readRequest(line);
      id = request.id;
      const result = await this.#call(request.method, request.params);
      if (id !== undefined) await this.#write({ id, result });
    } catch (error) {
      if (id !== undefined) await this.#write({ id, error: wireError(error) });
    }
  }

  #write(message: JsonObject): Promise<void> {
    return this.#options.write(JSON.stringify({ jsonrpc: '2.0', ...message }));
  }

  async #call(name: string, params: unknown): Promise<JsonObject> {
    const method = methodNames.find((known) => known === name);
    if (method === undefined)
      throw new RpcError('unknownMethod', `There is no method ${name}`, {
        methods: [...methodNames],
      });
    if (method === 'initialize') return this.#initialize(readParams(method, params));
    if (!this.#isInitialized)
      throw new RpcError('invalidRequest', 'The first request must be initialize', {
        versions: [rpcVersion],
      });
    if (method === 'session.open') return this.#open(readParams(method, params));
    if (method === 'session.list') return this.#list(readParams(method, params));
    return this.#callSession(method, params);
  }

  async #callSession(
    method: Exclude<Method, 'initialize' | 'session.open' | 'session.list'>,
    params: unknown,
  ): Promise<JsonObject> {
    const read = <Name extends Method>(name: Name) => readParams(name, params);
    const session = this.#session(read(method).session);
    switch (method) {
      case 'session.send':
        return session.send(read(method));
      case 'session.wait':
        return session.wait();
      case 'session.read':
        return session.read();
      case 'session.approve':
        return session.approve(read(method));
      case 'session.deny':
        return session.deny(read(method));
      case 'session.mode':
        return session.setMode(read(method).mode);
      case 'session.continue':
        return session.continue();
      case 'session.stop':
        return session.stop();
      case 'session.close':
        this.#sessions.delete(session.id);
        return session.close();
    }
  }

  #initialize(params: ParamsOf<'initialize'>): JsonObject {
    if (params.version !== rpcVersion)
      throw new RpcError(
        'invalidParams',
        `This program speaks version ${rpcVersion} of the protocol, not ${params.version}`,
        { versions: [rpcVersion] },
      );
    this.#isInitialized = true;
    const limits = { sessions: maxSessions, requests: maxRequests };
    return { name: 'millrace', program: version(), version: rpcVersion, limits };
  }

  async #open(params: ParamsOf<'session.open'>): Promise<JsonObject> {
    const { after, incarnation } = params;
    const id = params.session ?? ids.session();
    if (this.#sessions.has(id) || this.#opening.has(id))
      throw new RpcError('invalidRequest', 'The session is open already', { session: id });
    if (this.#sessions.size + this.#opening.size >= maxSessions)
      throw new RpcError('invalidRequest', `At most ${maxSessions} sessions can be open`);
    if (params.session === undefined && (after ?? 0) > 0)
      throw new RpcError(
        'invalidParams',
        'session.open: after needs the session that it belongs to',
      );
    this.#opening.add(id);
    try {
      const cwd = await resolveWorkFolder(params, this.#options.host.cwd);
      const through =
        params.session === undefined ? 0 : await this.#find(params.session, { cwd, incarnation });
      const session = await this.#openSession(id as SessionId, { cwd, after: after ?? through });
      this.#sessions.set(id, session);
      if (params.session !== undefined) await session.open();
      return session.describe();
    } catch (error) {
      const session = this.#sessions.get(id);
      this.#sessions.delete(id);
      await session?.close().catch(() => {});
      throw error;
    } finally {
      this.#opening.delete(id);
    }
  }

  async #openSession(
    session: SessionId,
    { cwd, after }: { readonly cwd: string; readonly after: number },
  ): Promise<RpcSession> {
    const { args, host, onProblem, write } = this.#options;
    const opened = await openAgent({
      ...{ args, host, stores: this.#stores, cwd, onProblem },
      name: 'millrace rpc',
      isServed: true,
      // The client asks for the retry with `session.continue`.
      onInterrupted: 'retry',
      chooseModel: realModel,
    });
    return new RpcSession({
      ...{ ...opened, session, env: host.env, flags: args, after },
      notify: (method, params) =>
        write(`{"jsonrpc":"2.0","method":${JSON.stringify(method)},"params":${params}}`),
    });
  }

  /** Checks that the store has the session, and returns the offset of its last record. */
  async #find(
    session: string,
    { cwd, incarnation }: { readonly cwd: string; readonly incarnation: string | undefined },
  ): Promise<number> {
    const { args, host } = this.#options;
    const { log } = await this.#stores.open(await loadConfig({ args, env: host.env, cwd }));
    const info = isId(session) ? await log.info(session as SessionId) : undefined;
    if (info === undefined)
      throw new RpcError('invalidParams', 'There is no such session', {
        ...{ session, code: 'no_such_session' },
      });
    if (incarnation !== undefined && incarnation !== info.incarnation)
      throw new RpcError(
        'invalidParams',
        'The log of the session was restored from a backup. Open the session with after: 0 and read it again',
        { session, code: 'rewound', incarnation: info.incarnation },
      );
    return info.through;
  }

  async #list({ cwd, after = 0 }: ParamsOf<'session.list'>): Promise<JsonObject> {
    const { args, host } = this.#options;
    const folder = await resolveWorkFolder(cwd === undefined ? {} : { cwd }, host.cwd);
    const { log } = await this.#stores.open(await loadConfig({ args, env: host.env, cwd: folder }));
    const limit = after + pageSize + 1;
    const found = await listSummaries(log, { ...(cwd !== undefined && { cwd: folder }), limit });
    const page = found.slice(after, after + pageSize);
    return {
      sessions: page.map(({ id, title, changedAt, ...rest }) => ({
        ...{ session: id, title, changedAt },
        ...(rest.cwd !== undefined && { cwd: rest.cwd }),
      })),
      ...(found.length > after + pageSize && { next: after + pageSize }),
    };
  }

  #session(id: string): RpcSession {
    const session = this.#sessions.get(id);
    if (session !== undefined) return session;
    throw new RpcError('invalidParams', 'The session is not open. Call session.open first', {
      session: id,
    });
  }
}

/**
 * Chooses the model. The demo model is used only if the configuration names it, because a program
 * cannot explain the demo to a user.
 */
async function realModel(
  config: Config,
  { env, cwd }: { readonly env: Host['env']; readonly cwd: string },
): Promise<ChosenModel> {
  const chosen = await chooseModel({ config, env, cwd });
  if (!chosen.isDemo || config.model?.trim() === 'demo') return chosen;
  const way =
    'Set the key of a provider in the environment, for example ANTHROPIC_API_KEY, configure a model in config.json, or pass --model demo. See millrace doctor';
  throw new ModelError('no_key', 'none', `No model can be used. ${way}`);
}

function wireError(error: unknown): JsonObject {
  if (error instanceof RpcError)
    return { code: error.code, message: error.message, ...(error.data && { data: error.data }) };
  const message = error instanceof Error ? error.message : String(error);
  const data = error instanceof MillraceError ? { data: { code: error.code } } : {};
  return { code: errorCodes.failed, message, ...data };
}
