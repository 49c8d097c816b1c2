import { createHash, randomBytes } from 'node:crypto';
import type { DraftRecord, JsonObject, LogRecord, SessionId } from '@millrace/core';
import { sessionId } from '@millrace/core';
import { type Log, LogError, type SessionFold, sessionStates } from '@millrace/log';
import type { RouteContext } from '../../../http/route.ts';
import type { LogLevel, McpCaller } from '../protocol/caller.ts';
import { invalidParams } from '../protocol/rpc-message.ts';

/** The settings of a client's connection, for versions before 2026-07-28. They are a fold of the connection's log. */
export interface ConnectionState {
  /** The client gets messages of this level and above. Undefined if it gets none. */
  readonly level: LogLevel | undefined;
  /** The resources whose changes the client gets, with the offset of a session at the time of the request. */
  readonly subscriptions: Readonly<Record<string, number>>;
  /** Number of changes of the connection. */
  readonly changes: number;
}

/** A change of a connection. The fold of a session ignores it, so the log stores it as a fact of an unknown type. */
type ConnectionFact =
  | { readonly type: 'mcp_level_set'; readonly level: LogLevel }
  | { readonly type: 'mcp_subscribed'; readonly uri: string; readonly from: number }
  | { readonly type: 'mcp_unsubscribed'; readonly uri: string };

const sessionPrefix = 'mcp-connection-';

/** Maximum number of resources that one connection can follow. Each of them has a reader. */
const maxSubscriptions = 16;

/** Maximum number of changes of one connection, which bounds the size of its log. */
const maxChanges = 2000;

/** Maximum number of times that a change starts again because another process changed the connection. */
const maxTries = 20;

/** The state of a connection that has set nothing. */
export const noChanges: ConnectionState = { level: undefined, subscriptions: {}, changes: 0 };

const connectionFold: SessionFold<ConnectionState> = { initial: noChanges, apply: foldConnection };

/** Returns the state of a connection after a record. */
export function foldConnection(state: ConnectionState, { fact }: LogRecord): ConnectionState {
  if (fact?.type !== 'unknown') return state;
  const change = fact.raw as unknown as ConnectionFact;
  const changes = state.changes + 1;
  switch (change.type) {
    case 'mcp_level_set':
      return { ...state, changes, level: change.level };
    case 'mcp_subscribed': {
      const { uri, from } = change;
      return { ...state, changes, subscriptions: { ...state.subscriptions, [uri]: from } };
    }
    case 'mcp_unsubscribed': {
      const { [change.uri]: _, ...subscriptions } = state.subscriptions;
      return { ...state, changes, subscriptions };
    }
    default:
      return state;
  }
}

/**
 * Returns the session with the log of a connection. The hash keeps the id of the connection secret, and it binds
 * the connection to the rights of the caller.
 */
export function connectionSession(connection: string, { restricted }: RouteContext): SessionId {
  const hash = createHash('sha256').update(JSON.stringify([connection, restricted ?? null]));
  return sessionId(`${sessionPrefix}${hash.digest('hex').slice(0, 32)}`);
}

/** Reads what the client has set for its connection. */
async function readConnection(
  { connection }: McpCaller,
  context: RouteContext,
): Promise<ConnectionState> {
  if (connection === undefined) return noChanges;
  const { log } = context;
  const session = connectionSession(connection, context);
  if ((await log.info(session)) === undefined) return noChanges;
  return (await sessionStates(log).load(session, connectionFold)).value;
}

/** Returns the level of messages that the client wants: from its request, or from its connection. */
export async function levelOf(
  caller: McpCaller,
  context: RouteContext,
): Promise<LogLevel | undefined> {
  return caller.isModern ? caller.logLevel : (await readConnection(caller, context)).level;
}

/**
 * Changes what the client has set for its connection. The change is a record of the connection's log, so it reaches
 * an open stream in any process. A change without an effect stores nothing.
 */
export async function changeConnection(
  { connection }: McpCaller,
  fact: ConnectionFact,
  context: RouteContext,
): Promise<void> {
  if (connection === undefined)
    throw invalidParams('This request needs the header Mcp-Session-Id. Send initialize first');
  const session = connectionSession(connection, context);
  for (let tries = 1; ; tries++) {
    try {
      return await append(session, fact, context);
    } catch (error) {
      const isRace = error instanceof LogError && ['held', 'fenced'].includes(error.code);
      if (!isRace || tries >= maxTries) throw error;
    }
  }
}

async function append(
  session: SessionId,
  fact: ConnectionFact,
  context: RouteContext,
): Promise<void> {
  const { log } = context;
  if ((await log.info(session)) === undefined) await removeOld(context);
  const driver = await log.open(session, { holder: 'mcp', takeOver: true });
  try {
    const { value } = await sessionStates(log).load(session, connectionFold);
    if (!hasEffect(value, fact)) return;
    assertRoom(value, fact);
    const raw = fact as unknown as JsonObject;
    const draft: DraftRecord = { turn: 0, attempt: 0, fact: { type: 'unknown', raw } };
    await driver.append([draft]);
    for (const wake of waiters(log).get(session) ?? []) wake();
  } finally {
    // The lease may be lost already. The next driver takes it over in any case.
    await driver.release().catch(() => {});
  }
}

/** The log of a connection is deleted this long after its last change. */
const keptMs = 30 * 24 * 3_600_000;

/** Number of logs that the first change of a connection checks. */
const sweptAtOnce = 20;

/**
 * Deletes logs of old connections. Each call checks only a few logs, from a random place on. After many calls,
 * each old log has been found.
 */
async function removeOld({ log, clock }: RouteContext): Promise<void> {
  const after = `${sessionPrefix}${randomBytes(4).toString('hex')}`;
  for (const { session, changedAt, through } of await log.list({ after, limit: sweptAtOnce }))
    if (session.startsWith(sessionPrefix) && changedAt < clock.now() - keptMs)
      await log.delete(session, { ifThrough: through }).catch(() => {});
}

/** The streams of this process whose connections have no log yet. */
const waiting = new WeakMap<Log, Map<SessionId, Set<() => void>>>();

function waiters(log: Log): Map<SessionId, Set<() => void>> {
  const known = waiting.get(log) ?? new Map<SessionId, Set<() => void>>();
  waiting.set(log, known);
  return known;
}

/** The time between two checks whether another process has created the log. */
const lookEveryMs = 5000;

/** Resolves with true when the connection has a log, and with false when the signal is aborted. */
export async function untilCreated(
  session: SessionId,
  { log, clock }: RouteContext,
  signal: AbortSignal,
): Promise<boolean> {
  const all = waiters(log);
  while (!signal.aborted) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = () => resolve();
    all.set(session, (all.get(session) ?? new Set()).add(wake));
    signal.addEventListener('abort', wake, { once: true });
    try {
      if ((await log.info(session)) !== undefined) return true;
      const cancel = clock.after(lookEveryMs, wake);
      await promise;
      cancel();
    } finally {
      all.get(session)?.delete(wake);
      if (all.get(session)?.size === 0) all.delete(session);
      signal.removeEventListener('abort', wake);
    }
  }
  return false;
}

function hasEffect({ level, subscriptions }: ConnectionState, fact: ConnectionFact): boolean {
  if (fact.type === 'mcp_level_set') return fact.level !== level;
  return Object.hasOwn(subscriptions, fact.uri) === (fact.type === 'mcp_unsubscribed');
}

function assertRoom({ subscriptions, changes }: ConnectionState, fact: ConnectionFact): void {
  const isFull = Object.keys(subscriptions).length >= maxSubscriptions;
  if (fact.type === 'mcp_subscribed' && isFull)
    throw invalidParams(`Cannot follow more than ${maxSubscriptions} resources. Unsubscribe first`);
  // After the limit, a client can still unsubscribe from its resources.
  if (changes >= maxChanges && fact.type !== 'mcp_unsubscribed')
    throw invalidParams('The connection was changed too often. Send initialize again');
}
