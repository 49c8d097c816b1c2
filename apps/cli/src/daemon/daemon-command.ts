import { networkInterfaces } from 'node:os';
import { MillraceError, type SessionId } from '@millrace/core';
import { snapshot } from '@millrace/log';
import { createServer, type LoopAgent, type Server } from '@millrace/server';
import { sqliteRows } from '@millrace/server/sqlite';
import { resolveWorkFolder } from '../command/paths.ts';
import { loadConfig } from '../config/load-config.ts';
import type { ServeArgs } from '../contract/args.ts';
import type { Host } from '../contract/host.ts';
import { exitCodes } from '../exit-code.ts';
import { pageFolder } from '../package-files.ts';
import { readOperatorToken } from '../serve/operator-token.ts';
import { ensurePrivateFolder } from '../serve/private-file.ts';
import { OpenResources } from '../store/open-resources.ts';
import { ensurePrivateFile, openStore, type Store } from '../store/open-store.ts';
import { findSession, listSummaries, type SessionSummary } from '../store/session-summaries.ts';
import { writeText } from '../text/terminal/terminal-gate.ts';
import {
  type ControlReply,
  type ControlRequest,
  listenForControl,
  type ShareRequest,
} from './control-socket.ts';
import { type DaemonFiles, daemonFiles, readState, writeState } from './daemon-files.ts';
import { lockDaemon } from './daemon-lock.ts';
import { FolderAgents } from './folder-agents.ts';
import { routingAgent } from './routing-agent.ts';
import { handedOverProfile, parseProfile, SessionProfiles } from './session-profile.ts';

/** The name of the agent that drives the sessions of the terminal. */
const agentName = 'terminal';
/** Maximum number of older sessions that the page lists. */
const maxListed = 200;
const scanMs = 3000;

/**
 * Runs `millrace serve --daemon`. It serves the sessions of the terminal, and drives those that a terminal
 * or a page has handed over, until a signal arrives or nothing is left to do.
 */
export async function daemonCommand(args: ServeArgs, host: Host): Promise<number> {
  const { env, signal, stdout, stderr } = host;
  const cwd = await resolveWorkFolder(args, host.cwd);
  const { store } = await loadConfig({ args: { store: args.store }, env, cwd });
  const files = daemonFiles({ store }, env);
  await using opened = new OpenResources();
  await ensurePrivateFolder(files.folder);
  await ensurePrivateFile(files.lock);
  const lock = lockDaemon(files.lock);
  if (lock === undefined) throw await alreadyRunning(files);
  opened.defer(() => lock.release());
  const sessions = await openStore({ config: { store }, env });
  opened.defer(() => sessions.close());
  await ensurePrivateFile(files.rows);
  const rows = sqliteRows({ path: files.rows });
  opened.defer(() => rows.close());
  const access = await readOperatorToken(args, env, () => files.folder);
  for (const note of access.notes) writeText(stderr, `${note}\n`);
  const daemon = new Daemon(files, sessions, env);
  await daemon.loadProfiles();
  opened.defer(() => daemon.close());
  const { allowHosts: hosts, origins, basePath, trustedProxies, log: format } = args;
  const report = (line: string) => writeText(stderr, `${line}\n`);
  const server = createServer({
    ...{ agents: [daemon.served], log: sessions.log, rows, tokens: access.tokens },
    ...{ page: pageFolder(), hosts, origins, basePath, trustedProxies, onDiagnostic: report },
    requestLog: {
      format,
      write: (line) => {
        daemon.touch();
        report(line);
      },
    },
  });
  const { url } = await listen(server, args, files);
  opened.defer(() => server.close());
  const [token] = access.tokens === 'none' ? [] : access.tokens;
  await daemon.start(server, { url, token });
  const control = await listenForControl(files.socket, daemon.handle);
  opened.defer(() => control.close());
  await writeState(files.state, { pid: process.pid, url, startedAt: Date.now() });
  // The output of a daemon that was started on demand is a file, so it does not contain the token.
  const isShown = access.own !== undefined && args.idleMinutes === undefined;
  const link = isShown ? `${url}/#token=${access.own.token}` : url;
  writeText(stdout, `The sessions of ${files.store} are at ${link}\n`);
  await daemon.untilOver(signal, args.idleMinutes);
  writeText(stderr, 'The daemon ends. Unfinished runs continue with the next one.\n');
  return exitCodes.done;
}

function noSession(session: string): MillraceError {
  const message = `The store has no session ${session}`;
  return new MillraceError('no_such_session', message, { session });
}

async function alreadyRunning({ state, store }: DaemonFiles): Promise<MillraceError> {
  const { pid, url } = (await readState(state)) ?? {};
  const where = url === undefined ? '' : ` at ${url} (process ${pid})`;
  const message = `A daemon already serves ${store}${where}`;
  return new MillraceError('daemon_runs', message, { path: store });
}

/** Listens on the given port, or on the port of the last daemon, so that open pages find the server again. */
async function listen(server: Server, args: ServeArgs, { state }: DaemonFiles) {
  const { port, host } = args;
  if (port !== undefined) return server.listen({ port, host });
  const last = (await readState(state))?.url;
  const lastPort = last === undefined ? 0 : Number(new URL(last).port);
  return server.listen({ port: lastPort, host }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error;
    return server.listen({ port: 0, host });
  });
}

/**
 * Returns the address that other machines can use. If the server listens on all addresses, it is the first
 * address of this machine in a network.
 */
function reachableUrl(url: string): string {
  const parsed = new URL(url);
  if (parsed.hostname !== '0.0.0.0' && parsed.hostname !== '[::]') return url;
  const all = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const own = all.find(({ family, internal }) => family === 'IPv4' && !internal);
  parsed.hostname = own?.address ?? '127.0.0.1';
  return parsed.href.replace(/\/$/, '');
}

/** The sessions of a store, and the decision which of them this process drives. */
class Daemon {
  readonly #log: Store['log'];
  readonly #profiles: SessionProfiles;
  readonly #agents: FolderAgents;
  /** The sessions that this process continues by itself. */
  readonly #handedOver = new Set<string>();
  readonly #listed = new Set<string>();
  readonly #name = `millrace daemon (process ${process.pid})`;
  readonly served: LoopAgent;
  #server: Server | undefined;
  #url = '';
  #token: string | undefined;
  #scanning: NodeJS.Timeout | undefined;
  /** The time at which a terminal, a page or a run last used the daemon. */
  #activeAt = 0;
  /** The time at which the last link expires. Until then, the daemon does not end by itself. */
  #linksUntil = 0;

  constructor(files: DaemonFiles, { log, path: store }: Store, env: Host['env']) {
    this.#log = log;
    this.#profiles = new SessionProfiles(files.profiles);
    const name = this.#name;
    this.#agents = new FolderAgents({ log, env, store, name, profiles: this.#profiles });
    const onDriving = (session: SessionId) => {
      this.touch();
      void this.#keep(session).catch(() => {});
    };
    this.served = {
      ...{ type: 'loop', name: agentName, description: 'The sessions of the terminal' },
      agent: routingAgent({
        ...{ name, agentFor: this.#agents.agentFor, onDriving },
        onFork: (origin, fork) => this.#agents.noteFork(origin, fork),
      }),
      recovers: (session: string) => this.#handedOver.has(session),
    };
  }

  /** Reads which sessions were handed over to an earlier daemon. */
  async loadProfiles(): Promise<void> {
    for (const session of await this.#profiles.list()) {
      const profile = await this.#profiles.read(session).catch(() => undefined);
      const info = await this.#log.info(session as SessionId);
      if (profile?.isHandedOver && profile.incarnation === info?.incarnation)
        this.#handedOver.add(session);
    }
  }

  /** Lists the sessions. The server resumes those that were handed over. */
  async start(server: Server, at: { readonly url: string; readonly token: string | undefined }) {
    this.#server = server;
    this.#url = at.url;
    this.#token = at.token;
    await this.#scan();
  }

  async close(): Promise<void> {
    clearTimeout(this.#scanning);
    await this.#agents.close();
  }

  /** Starts the idle time again, because a terminal or a page has used the daemon. */
  touch(): void {
    this.#activeAt = Date.now();
  }

  /** Handles a request of a terminal. */
  readonly handle = async (request: ControlRequest): Promise<ControlReply> => {
    this.touch();
    const about = { pid: process.pid, url: this.#url };
    switch (request.type) {
      case 'hello':
        return about;
      case 'adopt': {
        const profile = parseProfile(request.profile);
        const info = await this.#log.info(request.session as SessionId);
        if (info === undefined) throw noSession(request.session);
        const { incarnation } = info;
        await this.#profiles.write(request.session, { ...profile, incarnation });
        if (profile.isHandedOver) this.#handedOver.add(request.session);
        else this.#handedOver.delete(request.session);
        await this.#listSession(request.session);
        return about;
      }
      case 'resume':
        await this.#sessions.resume(request.session);
        return about;
      case 'release': {
        this.#handedOver.delete(request.session);
        const profile = await this.#profiles.read(request.session);
        if (profile?.isHandedOver)
          await this.#profiles.write(request.session, { ...profile, isHandedOver: false });
        await this.#sessions.release(request.session);
        return about;
      }
      case 'share':
        return { ...about, ...(await this.#share(request)) };
    }
  };

  /** Resolves when the signal aborts, or after some minutes without work if `idleMinutes` is given. */
  async untilOver(signal: AbortSignal, idleMinutes: number | undefined): Promise<void> {
    const over = Promise.withResolvers<void>();
    if (signal.aborted) return;
    signal.addEventListener('abort', () => over.resolve(), { once: true });
    if (idleMinutes === undefined) return over.promise;
    const limitMs = idleMinutes * 60_000;
    this.touch();
    const check = async () => {
      if (await this.#isBusy()) this.touch();
      if (Date.now() - this.#activeAt >= limitMs) over.resolve();
    };
    const timer = setInterval(
      () => void check().catch(() => {}),
      Math.min(Math.max(limitMs / 10, 100), 10_000),
    );
    await over.promise.finally(() => clearInterval(timer));
  }

  get #sessions(): Server['sessions'] {
    if (this.#server === undefined) throw new Error('The daemon has not started yet');
    return this.#server.sessions;
  }

  /**
   * True if this process drives a run or a background command, a handed-over session waits for an answer, or
   * a link is valid.
   */
  async #isBusy(): Promise<boolean> {
    if (this.#linksUntil > Date.now() || this.#agents.runningCommands > 0) return true;
    for (const { session, lease, hasWork } of await this.#log.list()) {
      if (lease?.holder === this.#name && hasWork) return true;
      if (!hasWork || !this.#handedOver.has(session)) continue;
      if ((await snapshot(this.#log, session)).asked.length > 0) return true;
    }
    return false;
  }

  /** Marks a session that this process drives. After a crash, the next daemon continues it. */
  async #keep(session: SessionId): Promise<void> {
    if (this.#handedOver.has(session)) return;
    this.#handedOver.add(session);
    const stored = await this.#agents.storedProfile(session);
    const found = stored ?? (await this.#summaryOf(session));
    if (found?.cwd === undefined) return;
    const incarnation = (await this.#log.info(session))?.incarnation;
    const profile = handedOverProfile(stored, { cwd: found.cwd, incarnation });
    await this.#profiles.write(session, profile);
  }

  async #summaryOf(session: string): Promise<SessionSummary | undefined> {
    return findSession(this.#log, session, { cwd: '' }).catch(() => undefined);
  }

  /** Lists new sessions every 3 s, because terminals create them without a message to the daemon. */
  async #scan(): Promise<void> {
    try {
      const infos = await this.#log.list();
      const known = new Set<string>(infos.map(({ session }) => session));
      for (const session of await this.#profiles.list()) {
        // The session can be newer than the list above.
        const isGone =
          !known.has(session) && (await this.#log.info(session as SessionId)) === undefined;
        if (isGone) await this.#profiles.delete(session);
      }
      const isFirst = this.#listed.size === 0;
      if (isFirst) {
        for (const summary of await listSummaries(this.#log, { limit: maxListed }))
          await this.#list(summary);
        for (const session of known) this.#listed.add(session);
      }
      for (const { session } of infos)
        if (!this.#listed.has(session)) await this.#listSession(session);
    } finally {
      this.#scanning = setTimeout(() => void this.#scan().catch(() => {}), scanMs);
    }
  }

  async #listSession(session: string): Promise<void> {
    const summary = await this.#summaryOf(session);
    if (summary !== undefined) await this.#list(summary);
  }

  /** Creates the task of a session. Sessions of sub-agents have no folder, and get no task. */
  async #list({ id, title, cwd }: SessionSummary): Promise<void> {
    if (cwd === undefined) return;
    await this.#sessions.adopt(id, { agent: agentName, metadata: { title, folder_path: cwd } });
    this.#listed.add(id);
  }

  async #share({ session, seconds, canWrite, base = reachableUrl(this.#url) }: ShareRequest) {
    await this.#listSession(session);
    const body = {
      task_id: session,
      read_only: !canWrite,
      expires_in: seconds,
      label: 'share link',
    };
    const response = await this.#server?.fetch(
      new Request(`${this.#url}/tokens`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(this.#token !== undefined && { authorization: `Bearer ${this.#token}` }),
        },
        body: JSON.stringify(body),
      }),
    );
    const reply = (await response?.json()) as {
      readonly token?: string;
      readonly message?: string;
    };
    if (reply.token === undefined)
      throw new MillraceError('no_link', reply.message ?? 'Cannot create a link');
    const expiresAt = Date.now() + seconds * 1000;
    this.#linksUntil = Math.max(this.#linksUntil, expiresAt);
    const path = `${base.replace(/\/$/, '')}/app/tasks/${encodeURIComponent(session)}`;
    return { link: `${path}#token=${encodeURIComponent(reply.token)}`, expiresAt };
  }
}
