import type { JsonObject } from '@millrace/core';
import {
  ApplicationFailure,
  defineQuery,
  defineSignal,
  log,
  type QueryDefinition,
  type SignalDefinition,
  setHandler,
} from '@temporalio/workflow';
import type { StateAnswer, TranscriptAnswer } from '../contract/agent-workflow.ts';
import type { AgentSession } from './agent-session.ts';

/**
 * The target session of a signal or query. Set it if a workflow has several sessions. Default: the first
 * active session.
 */
export interface SessionTarget {
  readonly session?: string | undefined;
}

/**
 * The argument of the signal `approve`, which approves a tool call. `input` replaces the model's input.
 */
export interface ApproveSignal extends SessionTarget {
  readonly toolCallId: string;
  readonly input?: JsonObject | undefined;
  readonly by?: string | undefined;
  readonly until?: number | 'session' | undefined;
}

/** The argument of the signal `deny`, which denies a tool call. The model gets the reason. */
export interface DenySignal extends SessionTarget {
  readonly toolCallId: string;
  readonly reason?: string | undefined;
  readonly by?: string | undefined;
}

type MessageInput = string | readonly JsonObject[];

/**
 * Sends a message. The message starts a run. If a run is active, the agent answers the message after its
 * current work.
 */
export const messageSignal: SignalDefinition<[MessageInput, SessionTarget?]> =
  defineSignal('message');
/** Sends a message that is added to the next model request. */
export const steerSignal: SignalDefinition<[MessageInput, SessionTarget?]> = defineSignal('steer');
/** Stops the run and keeps its partial answer. */
export const interruptSignal: SignalDefinition<[string?, SessionTarget?]> =
  defineSignal('interrupt');
/** Approves a tool call. */
export const approveSignal: SignalDefinition<[ApproveSignal]> = defineSignal('approve');
/** Denies a tool call. */
export const denySignal: SignalDefinition<[DenySignal]> = defineSignal('deny');
/** Makes the workflow read new commands from the session's log. */
export const wakeSignal: SignalDefinition<[SessionTarget?]> = defineSignal('wake');

/** Returns the finished items of this execution. */
export const transcriptQuery: QueryDefinition<TranscriptAnswer, [SessionTarget?]> =
  defineQuery('transcript');
/** Returns the current activity of the session, and the calls that wait for an approval. */
export const stateQuery: QueryDefinition<StateAnswer, [SessionTarget?]> = defineQuery('state');

interface SessionListener {
  readonly agentSession: AgentSession;
  isOver: boolean;
}

/** The sessions of this workflow, in the order in which they started to listen. */
const listeners: SessionListener[] = [];
type SignalWork = (agentSession: AgentSession) => void;
/** The signals for sessions that do not listen yet. */
const earlySignals: { readonly session: string; readonly work: SignalWork }[] = [];

/**
 * Connects signals and queries to a session. Signals become commands on the session's log. Several sessions
 * can listen at the same time. A signal names its session, or goes to the first active session. Returns a
 * function that ends the listening. Messages that arrive after that wait on the log.
 */
export function listenTo(agentSession: AgentSession): () => void {
  const { session } = agentSession;
  const known = listeners.findIndex((one) => one.agentSession.session === session);
  if (listeners[known]?.isOver === false) throw sessionInUse(session);
  const listener = { agentSession, isOver: false };
  listeners.splice(known === -1 ? listeners.length : known, 1, listener);
  setHandlers();
  for (const one of earlySignals.splice(0)) {
    if (one.session === session) one.work(agentSession);
    else earlySignals.push(one);
  }
  return () => {
    listener.isOver = true;
  };
}

/** True if no other session of the workflow is active. */
export function isListeningAlone(agentSession: AgentSession): boolean {
  return listeners.every((one) => one.agentSession === agentSession || one.isOver);
}

/**
 * Returns the target session of a signal or query. If the caller names no session, it is the first active
 * session, or the last session if none is active.
 */
function findSession(to: unknown): AgentSession | undefined {
  const session = sessionNameIn(to);
  if (session !== undefined)
    return listeners.find((one) => one.agentSession.session === session)?.agentSession;
  return (listeners.find(({ isOver }) => !isOver) ?? listeners.at(-1))?.agentSession;
}

function sessionNameIn(to: unknown): string | undefined {
  const { session } = (to ?? {}) as { readonly session?: unknown };
  return typeof session === 'string' ? session : undefined;
}

/** Logs the failure of a signal, because an invalid signal must not fail the workflow. */
function logFailure(work: Promise<void>): Promise<void> {
  return work.catch((error: unknown) => log.warn('A signal was ignored', { error: String(error) }));
}

function dispatch(
  to: unknown,
  work: (agentSession: AgentSession) => Promise<void>,
): Promise<void> | undefined {
  const agentSession = findSession(to);
  if (agentSession !== undefined) return logFailure(work(agentSession));
  const session = sessionNameIn(to) ?? '';
  earlySignals.push({ session, work: (listening) => void logFailure(work(listening)) });
  log.warn('A signal waits for a session that does not listen yet', { session });
  return undefined;
}

/** Sends an approval decision. The argument of the signal is untrusted and can be any value. */
function dispatchDecision(about: unknown, type: 'approve' | 'deny'): Promise<void> | undefined {
  const { session: _session, ...rest } = (about ?? {}) as { readonly session?: string };
  const command = JSON.parse(JSON.stringify({ ...rest, type })) as JsonObject;
  return dispatch(about, (agentSession) => agentSession.sendCommand(command));
}

/** Sets the handlers once for all sessions. */
function setHandlers(): void {
  if (listeners.length > 1) return;
  setHandler(messageSignal, (message, to) =>
    dispatch(to, (agentSession) => agentSession.sendMessage(message)),
  );
  setHandler(steerSignal, (message, to) =>
    dispatch(to, (agentSession) => agentSession.sendMessage(message, 'steer')),
  );
  setHandler(interruptSignal, (reason, to) =>
    dispatch(to, (agentSession) => agentSession.interrupt(reason)),
  );
  setHandler(approveSignal, (about) => dispatchDecision(about, 'approve'));
  setHandler(denySignal, (about) => dispatchDecision(about, 'deny'));
  setHandler(wakeSignal, (to) => {
    // A wake signal without a session applies to all sessions.
    const all =
      sessionNameIn(to) === undefined
        ? listeners.map(({ agentSession }) => agentSession)
        : [findSession(to)];
    return Promise.all(
      all.map((agentSession) => agentSession && logFailure(agentSession.wake())),
    ).then(() => {});
  });
  setHandler(transcriptQuery, (to) => queriedSession(to).transcript);
  setHandler(stateQuery, (to) => queriedSession(to).state);
}

function queriedSession(to: unknown): AgentSession {
  const agentSession = findSession(to);
  if (agentSession !== undefined) return agentSession;
  const known = listeners.map((one) => one.agentSession.session).join(', ');
  throw new RangeError(`Cannot query session ${sessionNameIn(to)}: this workflow has ${known}`);
}

function sessionInUse(session: string): ApplicationFailure {
  const message = `Cannot listen for session ${session}: another agent of this workflow uses it. Give each agent a session of its own, or start the second after the first has ended`;
  return ApplicationFailure.nonRetryable(message, 'millrace.session_in_use');
}
