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

/** Whom a signal or a query means, where a workflow has several sessions; the first unless told. */
export interface Addressed {
  readonly session?: string | undefined;
}

/** Who, and what instead. */
export interface ApproveSignal extends Addressed {
  readonly toolCallId: string;
  readonly input?: JsonObject | undefined;
  readonly by?: string | undefined;
  readonly until?: number | 'session' | undefined;
}

export interface DenySignal extends Addressed {
  readonly toolCallId: string;
  readonly reason?: string | undefined;
  readonly by?: string | undefined;
}

type Said = string | readonly JsonObject[];

/** Is answered when the run would end, or starts one. */
export const messageSignal: SignalDefinition<[Said, Addressed?]> = defineSignal('message');
/** Joins the next request. */
export const steerSignal: SignalDefinition<[Said, Addressed?]> = defineSignal('steer');
/** Stops the run, and keeps what was said. */
export const interruptSignal: SignalDefinition<[string?, Addressed?]> = defineSignal('interrupt');
export const approveSignal: SignalDefinition<[ApproveSignal]> = defineSignal('approve');
export const denySignal: SignalDefinition<[DenySignal]> = defineSignal('deny');
/** Something was left on the session's log: look. */
export const wakeSignal: SignalDefinition<[Addressed?]> = defineSignal('wake');

export const transcriptQuery: QueryDefinition<TranscriptAnswer, [Addressed?]> =
  defineQuery('transcript');
export const stateQuery: QueryDefinition<StateAnswer, [Addressed?]> = defineQuery('state');

interface Listener {
  readonly room: AgentSession;
  isOver: boolean;
}

/** The sessions of this workflow, in the order in which they began to listen. */
const listeners: Listener[] = [];
type Work = (room: AgentSession) => void;
/** What came for sessions that do not listen yet. */
const early: { readonly session: string; readonly work: Work }[] = [];

/**
 * Signals become commands on the session's log, and queries are answered, until the function that this
 * returns is called; what comes later waits on the log. Sessions listen side by side: a signal says whom
 * it means, and means the first one unless it says so.
 */
export function listenTo(room: AgentSession): () => void {
  const { session } = room;
  const known = listeners.findIndex((one) => one.room.session === session);
  if (listeners[known]?.isOver === false) throw inUse(session);
  const listener = { room, isOver: false };
  listeners.splice(known === -1 ? listeners.length : known, 1, listener);
  setHandlers();
  for (const one of early.splice(0)) {
    if (one.session === session) one.work(room);
    else early.push(one);
  }
  return () => {
    listener.isOver = true;
  };
}

/** No other session of the workflow goes on. */
export function isListeningAlone(room: AgentSession): boolean {
  return listeners.every((one) => one.room === room || one.isOver);
}

/** The one that is meant; unless told the first that goes on, or the last that did. */
function roomOf(to: unknown): AgentSession | undefined {
  const session = sessionIn(to);
  if (session !== undefined) return listeners.find((one) => one.room.session === session)?.room;
  return (listeners.find(({ isOver }) => !isOver) ?? listeners.at(-1))?.room;
}

function sessionIn(to: unknown): string | undefined {
  const { session } = (to ?? {}) as { readonly session?: unknown };
  return typeof session === 'string' ? session : undefined;
}

/** One that cannot be read is no reason for the workflow to fail. */
function heard(work: Promise<void>): Promise<void> {
  return work.catch((error: unknown) =>
    log.warn('A signal was not heard', { error: String(error) }),
  );
}

function tell(to: unknown, work: (room: AgentSession) => Promise<void>): Promise<void> | undefined {
  const room = roomOf(to);
  if (room !== undefined) return heard(work(room));
  const session = sessionIn(to) ?? '';
  early.push({ session, work: (come) => void heard(work(come)) });
  log.warn('A signal waits for a session that does not listen yet', { session });
  return undefined;
}

/** Whatever it is that somebody sent. */
function decide(about: unknown, type: 'approve' | 'deny'): Promise<void> | undefined {
  const { session: _session, ...rest } = (about ?? {}) as { readonly session?: string };
  const command = JSON.parse(JSON.stringify({ ...rest, type })) as JsonObject;
  return tell(about, (room) => room.tell(command));
}

/** For all that listen, once. */
function setHandlers(): void {
  if (listeners.length > 1) return;
  setHandler(messageSignal, (said, to) => tell(to, (room) => room.say(said)));
  setHandler(steerSignal, (said, to) => tell(to, (room) => room.say(said, 'steer')));
  setHandler(interruptSignal, (reason, to) => tell(to, (room) => room.interrupt(reason)));
  setHandler(approveSignal, (about) => decide(about, 'approve'));
  setHandler(denySignal, (about) => decide(about, 'deny'));
  setHandler(wakeSignal, (to) => {
    // Who wakes without a name may have left something in any of them.
    const all = sessionIn(to) === undefined ? listeners.map(({ room }) => room) : [roomOf(to)];
    return Promise.all(all.map((room) => room && heard(room.wake()))).then(() => {});
  });
  setHandler(transcriptQuery, (to) => asked(to).transcript);
  setHandler(stateQuery, (to) => asked(to).state);
}

function asked(to: unknown): AgentSession {
  const room = roomOf(to);
  if (room !== undefined) return room;
  const there = listeners.map((one) => one.room.session).join(', ');
  throw new RangeError(`Cannot ask session ${sessionIn(to)}: this workflow has ${there}`);
}

function inUse(session: string): ApplicationFailure {
  const message = `Cannot listen for session ${session}: another agent of this workflow does. Give each a session of its own, or begin the second when the first is through`;
  return ApplicationFailure.nonRetryable(message, 'millrace.session_in_use');
}
