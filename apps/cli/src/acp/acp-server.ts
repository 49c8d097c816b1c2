import { isAbsolute } from 'node:path';
import {
  type AgentApp,
  type AgentContext,
  agent,
  type ClientCapabilities,
  type InitializeResponse,
  type ListSessionsRequest,
  type ListSessionsResponse,
  type McpServer,
  methods,
  type NewSessionResponse,
  PROTOCOL_VERSION,
  RequestError,
} from '@agentclientprotocol/sdk';
import { isId, MillraceError, randomIds, type SessionId } from '@millrace/core';
import { resolveWorkFolder } from '../command/paths.ts';
import { loadConfig } from '../config/load-config.ts';
import type { AcpArgs } from '../contract/args.ts';
import type { Host } from '../contract/host.ts';
import { version } from '../package-files.ts';
import { deleteWithChildren } from '../sessions/delete-sessions.ts';
import { Stores } from '../store/open-stores.ts';
import { listSummaries } from '../store/session-summaries.ts';
import { AcpSession } from './acp-session.ts';
import { editorBuffers } from './editor-buffers.ts';
import { editorModel, openSession } from './open-session.ts';

/** Maximum number of sessions that are open at the same time. */
const maxSessions = 64;
/** The number of sessions in one page of `session/list`. */
const pageSize = 50;
const authMethod = 'api-key';
const ids = randomIds((bytes) => crypto.getRandomValues(bytes));

interface AcpServerOptions {
  readonly args: AcpArgs;
  readonly host: Pick<Host, 'env' | 'signal' | 'cwd'>;
  readonly onProblem: (problem: string) => void;
}

/** The agent side of the protocol: the sessions of one editor. */
export class AcpServer {
  readonly #options: AcpServerOptions;
  readonly #stores: Stores;
  readonly #sessions = new Map<string, AcpSession>();
  #capabilities: ClientCapabilities = {};
  /** Sessions that are being opened. They count for the limit. */
  #opening = 0;

  constructor(options: AcpServerOptions) {
    this.#options = options;
    this.#stores = new Stores(options.host.env);
  }

  /** Returns the application for the connection. */
  app(): AgentApp {
    const { agent: names } = methods;
    const { session } = names;
    return agent({ name: 'millrace' })
      .onRequest(names.initialize, ({ params }) => {
        this.#capabilities = params.clientCapabilities ?? {};
        return initializeResponse();
      })
      .onRequest(names.authenticate, ({ params }) => this.#authenticate(params.methodId))
      .onRequest(session.new, ({ params, client }) =>
        reported(async () => this.#newSession(params, client)),
      )
      .onRequest(session.load, ({ params, client }) =>
        reported(() => this.#continue(params, client, { replays: true })),
      )
      .onRequest(session.resume, ({ params, client }) =>
        reported(() => this.#continue(params, client, { replays: false })),
      )
      .onRequest(session.list, ({ params }) => reported(() => this.#list(params)))
      .onRequest(session.delete, ({ params }) => reported(() => this.#delete(params.sessionId)))
      .onRequest(session.close, ({ params }) => reported(() => this.#close(params.sessionId)))
      .onRequest(session.setMode, ({ params }) => {
        const { modeId } = params;
        if (!this.#session(params.sessionId).setMode(modeId))
          throw RequestError.invalidParams({ modeId }, 'there is no such mode');
        return {};
      })
      .onRequest(session.prompt, ({ params }) =>
        reported(() => this.#session(params.sessionId).prompt(params.prompt)),
      )
      .onNotification(session.cancel, ({ params }) =>
        this.#sessions.get(params.sessionId)?.cancel(),
      );
  }

  /** Stops all runs, and closes all sessions and stores. */
  async close(): Promise<void> {
    await Promise.all(Array.from(this.#sessions.keys(), (id) => this.#close(id).catch(() => {})));
    await this.#stores.close();
  }

  async #authenticate(methodId: string): Promise<Record<string, never>> {
    if (methodId !== authMethod)
      throw RequestError.invalidParams({ methodId }, 'there is no such method');
    const { host, args } = this.#options;
    const { env, cwd } = host;
    await reported(async () => editorModel(await loadConfig({ args, env, cwd }), { env, cwd }));
    return {};
  }

  async #newSession(params: SessionPlace, client: AgentContext): Promise<NewSessionResponse> {
    const session = await this.#open(ids.session(), params, client);
    this.#announce(session);
    return { sessionId: session.id, modes: session.modes };
  }

  /** Opens an existing session. `session/load` replays its messages, and `session/resume` does not. */
  async #continue(
    params: SessionPlace & { readonly sessionId: string },
    client: AgentContext,
    { replays }: { readonly replays: boolean },
  ): Promise<Omit<NewSessionResponse, 'sessionId'>> {
    const { sessionId } = params;
    const open = this.#sessions.get(sessionId);
    if (open?.isBusy)
      throw RequestError.invalidRequest({ sessionId }, 'the session answers a prompt');
    if (open !== undefined) await this.#close(sessionId);
    const known = await this.#find(sessionId, params.cwd);
    const session = await this.#open(known, params, client);
    try {
      await session.open({ replays });
    } catch (error) {
      await this.#close(sessionId);
      throw error;
    }
    this.#announce(session);
    return { modes: session.modes };
  }

  /** Checks that the store has the session. */
  async #find(sessionId: string, cwd: string): Promise<SessionId> {
    const { args, host } = this.#options;
    const config = await loadConfig({ args, env: host.env, cwd: await workFolder(cwd) });
    const { log } = await this.#stores.open(config);
    const info = isId(sessionId) ? await log.info(sessionId as SessionId) : undefined;
    if (info === undefined) throw RequestError.sessionNotFound(sessionId);
    return info.session;
  }

  async #open(id: SessionId, params: SessionPlace, client: AgentContext): Promise<AcpSession> {
    if (this.#sessions.size + this.#opening >= maxSessions)
      throw RequestError.invalidRequest(undefined, `at most ${maxSessions} sessions can be open`);
    if ((params.additionalDirectories ?? []).length > 0)
      throw RequestError.invalidParams(undefined, 'additional directories are not supported');
    this.#opening++;
    try {
      const { args, host, onProblem } = this.#options;
      const capabilities = this.#capabilities;
      const opened = await openSession({
        ...{ args, host, stores: this.#stores, onProblem },
        cwd: await workFolder(params.cwd),
        servers: params.mcpServers ?? [],
        buffers: editorBuffers({ session: id, client, capabilities }),
      });
      const session = new AcpSession({
        ...{ ...opened, session: id, client, capabilities, flags: args, env: host.env, onProblem },
      });
      this.#sessions.set(id, session);
      return session;
    } finally {
      this.#opening--;
    }
  }

  /** Sends the commands and warnings of a session after the response that contains its id. */
  #announce(session: AcpSession): void {
    setImmediate(() => {
      session.announce().catch((error: unknown) => this.#options.onProblem(String(error)));
    });
  }

  async #list({ cwd, cursor }: ListSessionsRequest): Promise<ListSessionsResponse> {
    const { args, host } = this.#options;
    const folder = await workFolder(cwd ?? host.cwd);
    const from = pageStart(cursor);
    const { log } = await this.#stores.open(await loadConfig({ args, env: host.env, cwd: folder }));
    const all = await listSummaries(log, cwd === undefined || cwd === null ? {} : { cwd: folder });
    // The sessions of sub-agents have no folder. They are part of another session.
    const sessions = all.flatMap(({ id: sessionId, cwd: place, title, changedAt }) => {
      const updatedAt = new Date(changedAt).toISOString();
      return place === undefined ? [] : [{ sessionId, cwd: place, title, updatedAt }];
    });
    const end = from + pageSize;
    const more = end < sessions.length ? { nextCursor: `${end}` } : {};
    return { sessions: sessions.slice(from, end), ...more };
  }

  async #delete(sessionId: string): Promise<Record<string, never>> {
    if (this.#sessions.has(sessionId)) await this.#close(sessionId);
    const { args, host } = this.#options;
    const { log } = await this.#stores.open(
      await loadConfig({ args, env: host.env, cwd: host.cwd }),
    );
    const info = isId(sessionId) ? await log.info(sessionId as SessionId) : undefined;
    // The protocol requires a successful reply if there is nothing to delete.
    if (info !== undefined) await deleteWithChildren(log, info.session);
    return {};
  }

  async #close(sessionId: string): Promise<Record<string, never>> {
    const session = this.#session(sessionId);
    this.#sessions.delete(sessionId);
    await session.close();
    return {};
  }

  #session(sessionId: string): AcpSession {
    const session = this.#sessions.get(sessionId);
    if (session === undefined) throw RequestError.sessionNotFound(sessionId);
    return session;
  }
}

/** The parameters that all requests for a session share. */
interface SessionPlace {
  readonly cwd: string;
  readonly mcpServers?: McpServer[] | undefined;
  readonly additionalDirectories?: string[] | undefined;
}

function initializeResponse(): InitializeResponse {
  return {
    // If the client requests another version, the protocol requires that the agent answers with its own
    // version.
    protocolVersion: PROTOCOL_VERSION,
    agentInfo: { name: 'millrace', title: 'Millrace', version: version() },
    agentCapabilities: {
      loadSession: true,
      promptCapabilities: { image: true, embeddedContext: true },
      mcpCapabilities: { http: true },
      sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {} },
    },
    authMethods: [
      {
        id: authMethod,
        name: 'API key',
        description:
          'Set the key of a provider in the environment of the editor, for example ANTHROPIC_API_KEY, or configure a model in config.json.',
      },
    ],
  };
}

async function workFolder(cwd: string): Promise<string> {
  if (!isAbsolute(cwd)) throw RequestError.invalidParams({ cwd }, 'cwd must be an absolute path');
  return resolveWorkFolder({ cwd }, cwd);
}

function pageStart(cursor: string | null | undefined): number {
  if (cursor === undefined || cursor === null) return 0;
  if (/^\d{1,9}$/.test(cursor)) return Number(cursor);
  throw RequestError.invalidParams({ cursor }, 'the cursor is not one of session/list');
}

/**
 * Converts errors of the program to errors of the protocol. Wrong settings and folders are `invalid
 * params`, because the caller can correct them.
 */
async function reported<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof RequestError || !(error instanceof MillraceError)) throw error;
    const isWrong = error.code === 'usage' || error.code === 'bad_config';
    const make = isWrong ? RequestError.invalidParams : RequestError.internalError;
    throw make({ code: error.code }, error.message);
  }
}
