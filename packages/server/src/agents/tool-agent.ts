import { type AgentOptions, createAgent, type Tool } from '@millrace/agent';
import {
  DeltaWriter,
  type Item,
  type JsonObject,
  noUsage,
  parseJson,
  type ToolCallId,
  toolCallId,
} from '@millrace/core';
import { createProvider, type Provider } from '@millrace/providers';
import type { LoopAgent } from '../contract/served-agent.ts';

/** Options of `toolAgent`. */
export interface ToolAgentOptions
  extends Omit<AgentOptions, 'provider' | 'providers' | 'tools' | 'name' | 'output'> {
  /** The name of the agent: lower case letters, digits and hyphens. */
  readonly name: string;
  /** A description that clients see. Default: empty. */
  readonly description?: string | undefined;
  /** The tools that clients can call. */
  readonly tools: readonly Tool[];
  /**
   * The tools that take long. A client with the tasks extension of MCP gets a task for their calls. Default:
   * none.
   */
  readonly longTools?: LoopAgent['longTools'];
  /**
   * The abilities that each tool requires of a client, by the name of the tool. The server refuses calls of other clients.
   * Default: nothing.
   */
  readonly needs?: LoopAgent['needs'];
}

/**
 * Creates an agent without a model, whose tools clients of MCP call directly. Each call is a run of a session,
 * so approvals, limits and recovery work as for other agents.
 *
 * @example
 * const tools = toolAgent({ name: 'tools', tools: [weather], log });
 * const server = createServer({ tokens: [createToken()], log, agents: [tools] });
 */
export function toolAgent(options: ToolAgentOptions): LoopAgent {
  const { name, description, tools, longTools, needs, ...rest } = options;
  const provider = toolCallProvider();
  const agent = createAgent({ whileAsking: 'park', ...rest, name, tools: [...tools], provider });
  return { type: 'loop', name, description, agent, offers: tools, longTools, needs };
}

/** A call of a tool as the text of a message. */
interface CallMessage {
  readonly name: string;
  readonly arguments: JsonObject;
  /** The id of the call. Default: a new id. */
  readonly id?: string | undefined;
}

/** Returns the text of the message that makes `toolCallProvider` call a tool. */
export function callMessage({ name, arguments: given, id }: CallMessage): string {
  return JSON.stringify({ name, arguments: given, ...(id !== undefined && { id }) });
}

/**
 * Returns a provider without a model. It answers a message such as `{"name":"read","arguments":{}}` with a call
 * of that tool, and ends after the result.
 */
export function toolCallProvider(): Provider {
  return createProvider('caller', 'caller', async function* ({ items }, { item, ids }) {
    const { id: itemId, turn, attempt } = item;
    const writer = new DeltaWriter({ itemId, turn, attempt, ids });
    const call = lastCall(items);
    const isCall = typeof call === 'object';
    const part = isCall ? writer.toolCall(idOf(call) ?? ids.toolCall(), call.name) : writer.text();
    part.append(isCall ? JSON.stringify(call.arguments) : call);
    part.commit();
    const stop = { reason: isCall ? 'tool_use' : 'stop' } as const;
    yield { deltas: writer.take(), end: { stop, usage: noUsage } };
  });
}

/** Returns the id that a message gives to its call. */
function idOf({ id }: CallMessage): ToolCallId | undefined {
  return typeof id === 'string' && /^\w{1,64}$/.test(id) ? toolCallId(id) : undefined;
}

/** Returns the call of the last message, or a text if there is nothing to call. */
function lastCall(items: readonly Item[]): CallMessage | string {
  const last = items.findLast(({ kind }) => kind === 'user' || kind === 'tool');
  if (last?.kind !== 'user') return 'Done.';
  const text = last.parts.flatMap((part) => (part.kind === 'text' ? part.text : [])).join('');
  const read = parseJson(text);
  const { name, arguments: given = {}, id } = (read.ok ? read.value : {}) as Partial<CallMessage>;
  if (typeof name === 'string' && typeof given === 'object' && given !== null)
    return { name, arguments: given, id };
  return 'Send {"name": "…", "arguments": {…}} to call a tool.';
}
