import type { BuiltAgent } from '../../contract/agent.ts';
import { openLoginPage, pageLines } from '../../mcp/server-login.ts';
import { note } from '../contract/block.ts';
import { formatCount } from '../render/format-amounts.ts';
import type { CommandContext, SlashCommand } from './slash-command.ts';

type ServerState = ReturnType<BuiltAgent['servers']['list']>[number];

export const mcp: SlashCommand = {
  name: '/mcp',
  actsOutside: true,
  argument: '[<action> <name>]',
  description: 'Show the MCP servers, or use an action: reconnect, login, logout',
  choices: ({ built }) =>
    built.servers
      .list()
      .flatMap(({ name, state }) => [
        { value: `reconnect ${name}` },
        ...(state === 'needs_login' ? [{ value: `login ${name}` }] : []),
      ]),
  async run(context, argument) {
    const { built, print } = context;
    const servers = built.servers.list();
    if (argument === '') {
      if (servers.length === 0)
        return print(note('dim', 'There are no MCP servers. Add them under "mcpServers".'));
      return print({ type: 'rows', rows: servers.map((one) => [one.name, stateText(one)]) });
    }
    const [, action, name] = /^(reconnect|login|logout)\s+(\S+)$/.exec(argument) ?? [];
    if (name === undefined || servers.every((one) => one.name !== name)) {
      const names = servers.map((one) => one.name).join(', ') || 'none';
      throw new Error(`Use /mcp reconnect, login or logout <name>. The servers are: ${names}`);
    }
    if (action === 'login') return logIn(context, name);
    if (action === 'logout') await built.servers.logout(name);
    else {
      print(note('dim', `Connecting to ${name} …`));
      await built.servers.reconnect(name);
    }
    showState(context, name);
  },
};

/** Shows the login page. The chat continues while the user logs in. */
function logIn(context: CommandContext, name: string): void {
  const { built, print, env, cwd } = context;
  const done = built.servers.login(name, async (page) => {
    print(...pageLines(page).map((line) => note('mark', line)));
    await openLoginPage(page, env, cwd);
  });
  print(note('dim', `Looking for the login of ${name} …`));
  done.then(
    () => showState(context, name),
    (error: unknown) => print(note('bad', error instanceof Error ? error.message : String(error))),
  );
}

function showState({ built, print }: CommandContext, name: string): void {
  const after = built.servers.list().find((one) => one.name === name);
  if (after !== undefined) print({ type: 'rows', rows: [[name, stateText(after)]] });
}

function stateText({ name, state, tools, problem }: ServerState): string {
  if (state === 'needs_login') return `needs a login: /mcp login ${name}`;
  if (state !== 'connected') return problem === undefined ? state : `${state}: ${problem}`;
  return `connected, ${formatCount(tools, 'tool')}`;
}
