import type { ProviderErrorKind } from '@millrace/providers';
import type { Scripted, ScriptedResponse } from '@millrace/providers/scripted';
import { z } from 'zod';
import { type Agent, type AgentOptions, createAgent } from '../create-agent.ts';
import { defineTool, type ToolOptions } from '../tool/define-tool.ts';
import { handOff } from '../tool/hand-off.ts';
import { subAgent } from '../tool/sub-agent.ts';
import { call } from './scripts.ts';
import { type Piece, type Props, session } from './understudies.ts';

const lookInput = z.object({ at: z.string() });

/** A tool that says what it does, unless told otherwise. */
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

/** A piece of one agent. */
export function solo(
  script: readonly Scripted[],
  options: Partial<AgentOptions> = {},
  act: Piece['act'] = go,
): Piece {
  const cast = ({ log, provider, tool, hook }: Props) => {
    const { tools = [lookTool()], approve } = options;
    return createAgent({
      ...{ retry: { baseDelayMs: 1 }, ...options, log, provider: provider(script) },
      ...{ tools: tools.map(tool), instructions: hook(() => 'Look.') },
      ...{ contextFilters: [hook((items) => items)], observers: [hook(() => {})] },
      random: hook(() => 0.5),
      ...(approve && { approve: hook(approve) }),
    });
  };
  return { cast, act };
}

/** One agent hands over to another, whose provider has the same name or one of its own. */
export function handingOver(isNamedAlike: boolean): Piece {
  const ids = isNamedAlike ? ['same', 'same'] : ['one', 'two'];
  const cast = ({ log, provider, tool }: Props) => {
    const two = createAgent({
      ...{ name: 'two', provider: provider([looks('a'), 'From two.', 'Still two.'], ids[1]) },
      tools: [tool(lookTool())],
    });
    const hands = tool(handOff({ to: two, description: 'To two' }));
    return createAgent({
      ...{ name: 'one', log, provider: provider([transfers('two')], ids[0]), tools: [hands] },
    });
  };
  const act: Piece['act'] = async (agent) => {
    await go(agent);
    await agent.run('Who is it?', { session }).result;
  };
  return { cast, act };
}

export const child: Piece['cast'] = ({ log, provider, tool }) =>
  createAgent({
    ...{ name: 'child', log, provider: provider([looks('a'), 'From the child.'], 'child') },
    tools: [tool(lookTool())],
  });

/** An agent that has another one as a tool. */
export const callingAChild: Piece = {
  cast: (props) => {
    const asks = subAgent({ name: 'ask', description: 'Asks', agent: child(props) });
    const script = [{ content: { parts: [call('c', 'ask', { task: 'Look' })] } }, 'It says so.'];
    const { log, provider, tool } = props;
    return createAgent({ log, provider: provider(script), tools: [tool(asks)] });
  },
  act: go,
};

/** Providers of these ids, each with what it says, that are asked one after another. */
export const falling = (
  options: Partial<AgentOptions>,
  ids: readonly string[],
  ...scripts: Scripted[][]
) => {
  const cast = ({ log, provider, tool }: Props) => {
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
  return { cast, act: go };
};

export const usage = { input: 900, output: 100 };
export const compaction = { whenTokens: 1000, keepSteps: 1 };
export const output = z.object({ n: z.number() });
