import { type LogRecord, type SessionId, sessionId } from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import type { Provider, ProviderErrorKind } from '@millrace/providers';
import {
  type ScriptEntry,
  type ScriptedResponse,
  scriptedProvider,
} from '@millrace/providers/scripted';
import { z } from 'zod';
import type { Agent } from '../contract/agent.ts';
import type { ReplayResult } from '../contract/replay.ts';
import type { Tool } from '../contract/tool.ts';
import { type AgentOptions, createAgent } from '../create-agent.ts';
import { handOff, subAgent } from '../tool/agent-tools.ts';
import { defineTool, type ToolOptions } from '../tool/define-tool.ts';
import { call } from './model-script.ts';

/** The parts that an agent is built from. They either work, or throw when they are used. */
interface AgentParts {
  readonly log: Log;
  provider(script: readonly ScriptEntry[], id?: string): Provider;
  tool(tool: Tool): Tool;
  /** Wraps user functions such as a policy or instructions. */
  hook<F extends (...given: never[]) => unknown>(hook: F): F;
}

/** A scenario that builds an agent and runs it, so that its session can be replayed. */
export interface ReplayScenario {
  readonly buildAgent: (parts: AgentParts) => Agent;
  readonly run: (agent: Agent, log: Log) => Promise<unknown>;
  /** The session to replay. Default: `s`. */
  readonly session?: SessionId | undefined;
}

export const session: SessionId = sessionId('s');

/** Runs a scenario and returns its records. */
export async function record({ buildAgent, run, session: of = session }: ReplayScenario) {
  const log = memoryLog();
  const provider: AgentParts['provider'] = (script, id) => scriptedProvider(script, { id });
  const agent = buildAgent({ log, provider, tool: (tool) => tool, hook: (hook) => hook });
  await run(agent, log);
  const { records } = await log.read(of, { maxBytes: Number.POSITIVE_INFINITY });
  return { log, agent, records };
}

interface InertReplay extends ReplayResult {
  /** The records that the observers received. */
  readonly told: readonly LogRecord[];
}

/** Replays a session with the same agent, built from parts that throw when they are used. */
export async function replayInert(
  buildAgent: ReplayScenario['buildAgent'],
  log: Log,
  of: SessionId = session,
): Promise<InertReplay> {
  const used: string[] = [];
  const fail = (what: string) => (): never => {
    used.push(what);
    throw new Error(`${what} was used`);
  };
  const provider: AgentParts['provider'] = (_script, id = 'scripted') => {
    const stream = fail(`provider ${id}`);
    return { id, model: 'none', stream, complete: stream };
  };
  const tool = (one: Tool): Tool => ({ ...one, execute: fail(`tool ${one.name}`) });
  const agent = buildAgent({ log, provider, tool, hook: () => fail('a hook') as never });
  const told: LogRecord[] = [];
  const replayed = await agent.replay(of, { observers: [(record) => void told.push(record)] });
  if (used.length > 0) throw new Error(`A replay used ${used.join(', ')}`);
  return { ...replayed, told };
}

/**
 * Returns only the records of drivers. After a driver died, observers did not receive the records of
 * other writers.
 */
export function byDrivers(records: readonly LogRecord[]): readonly LogRecord[] {
  return records.filter(({ producer }) => producer.startsWith('driver'));
}

const lookInput = z.object({ at: z.string() });

/** Returns a tool that reports progress and returns a text. */
export function lookTool(options: Partial<ToolOptions<typeof lookInput>> = {}) {
  return defineTool({
    ...{ name: 'look', description: 'Looks', input: lookInput },
    execute: async ({ at }, { update }) => {
      update(`looking at ${at}`);
      return `${at} is there`;
    },
    ...options,
  });
}

export const looks = (...ids: readonly string[]): ScriptedResponse => ({
  content: { parts: ids.map((id) => call(id, 'look', { at: id })) },
});
export const fails = (error: ProviderErrorKind, after = 0): ScriptedResponse => ({
  ...{ content: { parts: ['never said'] }, fault: { type: 'error', after, error } },
});
export const value = (said: number | string): ScriptedResponse => ({
  content: { parts: [{ kind: 'structured', value: { n: said } }] },
});
const transfers = (to: string): ScriptedResponse => ({
  content: { parts: [call(`to ${to}`, `transfer_to_${to}`, { reason: 'why not' })] },
});
export const go = (agent: Agent) => agent.run('Go', { session }).result;

/** Returns a scenario with one agent. */
export function singleAgent(
  script: readonly ScriptEntry[],
  options: Partial<AgentOptions> = {},
  run: ReplayScenario['run'] = go,
): ReplayScenario {
  const buildAgent = ({ log, provider, tool, hook }: AgentParts) => {
    const { tools = [lookTool()], approve } = options;
    return createAgent({
      ...{ retry: { baseDelayMs: 1 }, ...options, log, provider: provider(script) },
      tools: tools.map((one) => (typeof one === 'function' ? one : tool(one))),
      ...{ instructions: hook(() => 'Look.') },
      ...{ contextFilters: [hook((items) => items)], observers: [hook(() => {})] },
      random: hook(() => 0.5),
      ...(approve && { approve: hook(approve) }),
    });
  };
  return { buildAgent, run };
}

/**
 * Returns a scenario in which one agent hands off to another. Their providers have the same id or
 * different ids.
 */
export function handOffScenario(isNamedAlike: boolean): ReplayScenario {
  const ids = isNamedAlike ? ['same', 'same'] : ['one', 'two'];
  const buildAgent = ({ log, provider, tool }: AgentParts) => {
    const two = createAgent({
      ...{ name: 'two', provider: provider([looks('a'), 'From two.', 'Still two.'], ids[1]) },
      tools: [tool(lookTool())],
    });
    const hands = tool(handOff({ to: two, description: 'To two' }));
    return createAgent({
      ...{ name: 'one', log, provider: provider([transfers('two')], ids[0]), tools: [hands] },
    });
  };
  const run: ReplayScenario['run'] = async (agent) => {
    await go(agent);
    await agent.run('Who is it?', { session }).result;
  };
  return { buildAgent, run };
}

export const child: ReplayScenario['buildAgent'] = ({ log, provider, tool }) =>
  createAgent({
    ...{ name: 'child', log, provider: provider([looks('a'), 'From the child.'], 'child') },
    tools: [tool(lookTool())],
  });

/** A scenario with an agent that has another agent as a tool. */
export const subAgentScenario: ReplayScenario = {
  buildAgent: (parts) => {
    const asks = subAgent({ name: 'ask', description: 'Asks', agent: child(parts) });
    const script = [{ content: { parts: [call('c', 'ask', { task: 'Look' })] } }, 'It says so.'];
    const { log, provider, tool } = parts;
    return createAgent({ log, provider: provider(script), tools: [tool(asks)] });
  },
  run: go,
};

/**
 * Returns a scenario with an agent that has fallback providers. `ids` are the ids of all its providers.
 */
export const fallbackScenario = (
  options: Partial<AgentOptions>,
  ids: readonly string[],
  ...scripts: ScriptEntry[][]
) => {
  const buildAgent = ({ log, provider, tool }: AgentParts) => {
    const [first, ...fallbacks] = scripts.map((script, at) => provider(script, ids[at]));
    if (first === undefined) throw new Error('There is no provider');
    const tools = [tool(lookTool())];
    return createAgent({
      retry: { baseDelayMs: 1 },
      ...options,
      log,
      provider: first,
      fallbacks,
      tools,
    });
  };
  return { buildAgent, run: go };
};

export const usage = { input: 900, output: 100 };
export const compaction = { whenTokens: 1000, keepSteps: 1 };
export const output = z.object({ n: z.number() });
