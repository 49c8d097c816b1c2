import { randomIds, type SessionId, sessionId, type TraceContext } from '@millrace/core';
import { type Log, type SubmitResult, sessionStates } from '@millrace/log';
import { AgentError } from '../contract/agent-error.ts';
import type { RunInput } from '../contract/run.ts';
import { toItems } from '../input/run-input.ts';
import { assertKnownOptions } from '../known-options.ts';
import { activeCommands, agentOfWork, encodeCommand } from '../state/commands.ts';
import { loopFold } from '../state/fold-loop.ts';

/** Options of `enqueue`. */
export interface EnqueueOptions {
  /**
   * The name of the agent that answers the input. The log stores this name. While the session works for another
   * agent, the input waits.
   */
  readonly agent: string;
  /** The session to run in. Default: a new session. */
  readonly session?: string | undefined;
  /**
   * Idempotency key. An input has no effect if its key was used before in the session. Default: a new key.
   */
  readonly key?: string | undefined;
  /** The trace that the run belongs to. Default: none. */
  readonly trace?: TraceContext | undefined;
}

/** The result of `enqueue`. */
export interface EnqueuedRun extends SubmitResult {
  readonly session: SessionId;
  /** The key of the input. Pass it to the command `withdraw` to withdraw the input. */
  readonly key: string;
}

/**
 * Queues an input for a worker. The log stores it with the name of the agent. Any process that can access
 * the log can call this function. It needs no worker and no agent.
 *
 * @example
 * await enqueue(log, 'Refund order 17', { agent: 'desk', session: 'ticket-17', key: 'mail-4711' });
 */
export async function enqueue(
  log: Log,
  input: RunInput,
  options: EnqueueOptions,
): Promise<EnqueuedRun> {
  assertKnownOptions('enqueue', options, { agent: true, session: true, key: true, trace: true });
  const { agent, trace } = options;
  if (typeof agent !== 'string' || agent === '') throw noAgentName();
  const session = options.session === undefined ? newIds.session() : sessionId(options.session);
  const key = options.key ?? newIds.execution();
  const items = toItems(input, newIds);
  const message = encodeCommand({ type: 'message', when: 'follow_up', items, trace });
  const submitted = await log.submit(session, { ...message, agent }, key);
  return { ...submitted, session, key };
}

const newIds = randomIds((bytes) => crypto.getRandomValues(bytes));

function noAgentName(): AgentError {
  const message = 'Cannot enqueue the input: pass the name of the agent that answers, as agent';
  return new AgentError('bad_option', message, { of: 'enqueue', option: 'agent' });
}

/** The work that waits in a session. */
interface OpenWork {
  /**
   * The agent that the session works for: the agent of the open run or turn, or otherwise of the next enqueued input.
   * Undefined if no enqueued input named it.
   */
  readonly agent: string | undefined;
  /** False if the session only waits for an approval, so that no worker has to run it. */
  readonly isRunnable: boolean;
}

/** Reads from the log whether a worker has to run a session, and with which agent. */
export async function readOpenWork(log: Log, session: SessionId): Promise<OpenWork> {
  const { value: loop } = await sessionStates(log).load(session, loopFold);
  const queued = activeCommands(loop.commands).map(({ command }) => command.type);
  // While a call waits for an approval, queued messages wait too.
  const waiting = loop.turn === undefined ? [] : ['message', 'compact'];
  const isRunnable = loop.run !== undefined || queued.some((type) => !waiting.includes(type));
  return { agent: agentOfWork(loop), isRunnable };
}
