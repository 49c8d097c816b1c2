import { type Item, type JsonValue, noUsage } from '@millrace/core';
import {
  createProvider,
  type ModelRequest,
  ProviderError,
  type Stream,
  type StreamContext,
  type StreamStep,
} from '@millrace/providers';
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import type { Agent } from '../contract/agent.ts';
import type { Guardrail } from '../contract/guardrail.ts';
import type { Tool } from '../contract/tool.ts';
import { type AgentOptions, createAgent } from '../create-agent.ts';
import { defineTool } from '../tool/define-tool.ts';
import type { RemoteEvent, RemotePeer, RemoteRequest } from './contract.ts';
import { redactedEvents } from './redacted-events.ts';
import { RemoteTurn } from './remote-turn.ts';
import { memoryPart, StepWriter } from './step-writer.ts';

/** Options of an agent that passes its work to a remote agent. */
export type RemoteAgentOptions = Pick<
  AgentOptions,
  'log' | 'name' | 'observers' | 'guardrails' | 'forms' | 'clock' | 'ids' | 'limits'
>;

/**
 * Creates an agent that passes its work to a remote agent. The texts, reasoning, tool calls, results and
 * questions of the remote agent are streamed to our log. So approvals, stop, the page and all endpoints work as
 * for every other agent.
 *
 * - A call of the remote agent is a call on our log. The remote agent runs its tool itself.
 * - A question of the remote agent is a form, which any client of the session can answer.
 * - A stop reaches the remote agent.
 * - A tool guardrail checks a call that may already run. It can stop the run, but it cannot change the call, and
 *   cannot ask the user before the call runs. The verdicts `change` and `ask` therefore stop the run.
 */
export function remoteAgent(peer: RemotePeer, options: RemoteAgentOptions = {}): Agent {
  const turns = new Map<string, RemoteTurn>();
  const start: StartTurn = (request, signal) =>
    new RemoteTurn(
      (stop) => redactedEvents(peer.send({ ...request, signal: stop }), peer),
      signal,
      options.name ?? peer.name,
    );
  const stream: Stream = (request, context) => streamStep(peer, { start, turns }, request, context);
  // The signal of `createProvider` also aborts at the end of a step. A turn needs the signal of the run.
  const provider = { ...createProvider(peer.protocol, peer.name, stream), stream };
  // A step cannot be sent again, because the remote agent has already worked.
  const retry = { maxAttempts: 1 };
  const guardrails = options.guardrails?.map(checkedWhileRunning);
  return createAgent({ ...options, guardrails, provider, tools: [remoteTool(turns)], retry });
}

/**
 * Returns a guardrail for calls that a remote agent runs. The remote agent may have started the call already, so
 * no other input can run, and a question would come too late. Both verdicts become `stop`.
 */
function checkedWhileRunning(guardrail: Guardrail): Guardrail {
  if (guardrail.on !== 'tool_call') return guardrail;
  return {
    ...guardrail,
    check: async (call, step) => {
      const given = await guardrail.check(call, step);
      const { verdict, reason } = (given ?? {}) as { verdict?: unknown; reason?: unknown };
      if (verdict !== 'change' && verdict !== 'ask') return given;
      const why = typeof reason === 'string' ? `: ${reason}` : '';
      const impossible = verdict === 'change' ? 'change the call' : 'ask about the call';
      const text = `The guardrail cannot ${impossible}, because the remote agent may run it already${why}`;
      return { verdict: 'stop', reason: text };
    },
  };
}

/** The tool that runs all calls of the remote agent. It waits until the remote agent reports the result. */
function remoteTool(turns: ReadonlyMap<string, RemoteTurn>): Tool {
  const tool = defineTool({
    name: 'remote_tool',
    description: 'A tool of the remote agent',
    input: anyInput,
    execute: async (_, context) => {
      const turn = turns.get(context.session);
      if (turn !== undefined) return turn.serve(context);
      const text = 'The connection to the remote agent is lost. The outcome is unknown.';
      return { output: { text, isError: true } };
    },
  });
  return { ...tool, runsAnyName: true, checksAnswers: true };
}

const objectSchema = { type: 'object' } as const;

/** A schema that accepts every input, because the remote agent has already accepted the input. */
const anyInput: StandardSchemaV1<JsonValue> & StandardJSONSchemaV1<JsonValue> = {
  '~standard': {
    ...{ version: 1, vendor: 'millrace', validate: (value) => ({ value: value as JsonValue }) },
    jsonSchema: { input: () => ({ ...objectSchema }), output: () => ({ ...objectSchema }) },
  },
};

type StartTurn = (
  request: Omit<RemoteRequest, 'signal'>,
  signal: AbortSignal | undefined,
) => RemoteTurn;

interface Turns {
  readonly start: StartTurn;
  /** The open turns, by session. */
  readonly turns: Map<string, RemoteTurn>;
}

async function* streamStep(
  peer: RemotePeer,
  { start: startTurn, turns }: Turns,
  { items }: ModelRequest,
  { item, ids, session = '', signal }: StreamContext,
): AsyncGenerator<StreamStep> {
  const { id: itemId, turn: number, attempt } = item;
  const memory = memoryIn(items);
  const writer = new StepWriter({ itemId, turn: number, attempt, ids }, peer, memory);
  const fresh = newMessages(items);
  const start = (message: readonly Item[]): RemoteTurn => {
    const started = startTurn({ session, items, message, memory }, signal);
    turns.set(session, started);
    const forget = () => turns.get(session) === started && turns.delete(session);
    signal?.addEventListener('abort', forget, { once: true });
    return started;
  };
  let turn = continued(turns.get(session), items);
  if (turn === undefined && fresh.length === 0) {
    turns.delete(session);
    const message = 'The connection to the remote agent was lost. Send a message to continue';
    return yield failure(peer, writer, message);
  }
  if (turn === undefined) turn = start(fresh);
  else turn.later.push(...fresh);
  let isWhole = false;
  try {
    for (;;) {
      const events = await turn.take();
      for (const [at, event] of events.entries()) {
        if (event.type === 'end' && writer.calls.size === 0) {
          if (event.stop.reason === 'stop' && turn.later.length > 0) {
            turn = start(turn.later);
            break;
          }
          turns.delete(session);
          isWhole = true;
          return yield endOf(peer, writer, event);
        }
        if (!endsStep(event, turn, writer)) {
          write(event, writer);
          continue;
        }
        // The next step shows a question that no call of this step asks.
        turn.putBack(events.slice(event.type === 'result' ? at + 1 : at));
        turn.calls = writer.calls;
        isWhole = true;
        return yield {
          deltas: writer.finish(),
          end: { stop: { reason: 'tool_use' }, usage: noUsage },
        };
      }
      const deltas = writer.take();
      if (deltas.length > 0) yield { deltas };
    }
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    yield failure(peer, writer, `Cannot store what the remote agent sent: ${problem}`);
  } finally {
    // After a failed or unread step, no later step continues the turn.
    if (!isWhole) turns.delete(session);
    if (!isWhole) turn.stop();
  }
}

/** Returns whether the step ends at this event, so that its calls run. */
function endsStep(event: RemoteEvent, turn: RemoteTurn, writer: StepWriter): boolean {
  if (event.type === 'end') return true;
  if (event.type === 'result') return writer.calls.has(event.id);
  if (event.type !== 'question' || !turn.isOpen(event)) return false;
  // A question without a call gets one, because a form belongs to a call.
  if (writer.calls.size === 0) {
    writer.call(turn.newQuestionCall(), 'question', { message: event.form.message });
  }
  return true;
}

function write(event: RemoteEvent, writer: StepWriter): void {
  switch (event.type) {
    case 'text':
    case 'reasoning':
      return writer.text(event);
    case 'file':
      return writer.file(event);
    case 'call':
      return void writer.call(event.id, event.name, event.input);
    case 'memory':
      return writer.memory(event.value);
    default:
      return undefined;
  }
}

function endOf(
  peer: RemotePeer,
  writer: StepWriter,
  { stop, problem }: Extract<RemoteEvent, { readonly type: 'end' }>,
): StreamStep {
  if (stop.reason === 'error')
    return failure(peer, writer, problem ?? 'The remote agent reported an error');
  if (stop.reason !== 'aborted') return { deltas: writer.finish(), end: { stop, usage: noUsage } };
  const error = new ProviderError('aborted', 'The remote agent was stopped', {
    provider: peer.protocol,
  });
  return { deltas: writer.cut(true), end: { stop, usage: noUsage, error } };
}

function failure({ protocol }: RemotePeer, writer: StepWriter, message: string): StreamStep {
  // The remote agent has already retried what can be retried.
  const error = new ProviderError('server', message.slice(0, 2000), {
    ...{ provider: protocol, retry: 'no' },
  });
  return { deltas: writer.cut(false), end: { stop: { reason: 'error' }, usage: noUsage, error } };
}

/** Returns the running turn, if the items contain the results of its last calls. Stops it otherwise. */
function continued(turn: RemoteTurn | undefined, items: readonly Item[]): RemoteTurn | undefined {
  const after = items.slice(items.findLastIndex(({ kind }) => kind === 'assistant') + 1);
  const isContinued = after.some(({ parts }) =>
    parts.some((part) => part.kind === 'tool_result' && turn?.calls.has(part.toolCallId)),
  );
  if (isContinued && turn?.isStopped === false) return turn;
  turn?.stop();
  return undefined;
}

/** Returns the messages of the user after the last answer. */
function newMessages(items: readonly Item[]): readonly Item[] {
  const from = items.findLastIndex(({ kind }) => kind === 'assistant') + 1;
  return items.slice(from).filter(({ kind }) => kind === 'user');
}

function memoryIn(items: readonly Item[]): JsonValue | undefined {
  for (const { kind, parts } of items.toReversed()) {
    if (kind !== 'assistant') continue;
    const found = parts.findLast((part) => part.kind === 'custom' && part.name === memoryPart);
    if (found?.kind === 'custom') return found.value;
  }
  return undefined;
}
