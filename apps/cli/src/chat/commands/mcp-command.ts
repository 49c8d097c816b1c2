import type { BuiltAgent } from '../../contract/agent.ts';
import { note } from '../contract/block.ts';
import { formatCount } from '../render/format-amounts.ts';
import type { SlashCommand } from './slash-command.ts';

type ServerState = ReturnType<BuiltAgent['servers']['list']>[number];

export const mcp: SlashCommand = {
  name: '/mcp',
  argument: '[reconnect <name>]',
  description: 'Show the MCP servers, or connect to one of them again',
  choices: ({ built }) => built.servers.list().map(({ name }) => ({ value: `reconnect ${name}` })),
  async run({ built, print }, argument) {
    const servers = built.servers.list();
    if (argument === '') {
      if (servers.length === 0)
        return print(note('dim', 'There are no MCP servers. Add them under "mcpServers".'));
      return print({ type: 'rows', rows: servers.map((one) => [one.name, stateText(one)]) });
    }
    const [, name] = /^reconnect\s+(\S+)$/.exec(argument) ?? [];
    if (name === undefined || servers.every((one) => one.name !== name)) {
      const names = servers.map((one) => one.name).join(', ') || 'none';
      throw new Error(`Use /mcp reconnect <name>. The servers are: ${names}`);
    }
    print(note('dim', `Connecting to ${name} …`));
    await built.servers.reconnect(name);
    const after = built.servers.list().find((one) => one.name === name);
    if (after !== undefined) print({ type: 'rows', rows: [[name, stateText(after)]] });
  },
};

function stateText({ state, tools, problem }: ServerState): string {
  if (state !== 'connected') return problem === undefined ? state : `${state}: ${problem}`;
  return `connected, ${formatCount(tools, 'tool')}`;
}
