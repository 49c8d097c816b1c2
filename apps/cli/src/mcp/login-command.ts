import { resolveWorkFolder } from '../command/paths.ts';
import { untilStopped } from '../command/stop-signals.ts';
import { loadConfig } from '../config/load-config.ts';
import type { McpLoginArgs } from '../contract/args.ts';
import type { Host } from '../contract/host.ts';
import { exitCodes } from '../exit-code.ts';
import { writeText } from '../text/terminal/terminal-gate.ts';
import { loginServer, openLoginPage, pageLines, serverForLogin } from './server-login.ts';

/** Runs `millrace mcp login` and `millrace mcp logout`. */
export async function mcpLoginCommand(args: McpLoginArgs, host: Host): Promise<number> {
  const { env, stdout, stderr, signal } = host;
  const cwd = await untilStopped(signal, resolveWorkFolder(args, host.cwd));
  const config = await untilStopped(signal, loadConfig({ args, env, cwd }));
  for (const warning of config.warnings) writeText(stderr, `${warning}\n`);
  const configured = serverForLogin(config.mcpServers, args.name);
  const { loginMcp, logoutMcp, ...module } = await import('@millrace/tools/mcp');
  const server = loginServer(configured, module);
  if (args.action === 'logout') {
    await untilStopped(signal, logoutMcp(server));
    writeText(stdout, `Logged out of ${args.name}.\n`);
    return exitCodes.done;
  }
  const logIn = loginMcp(server, {
    flow: args.device ? 'device' : 'browser',
    signal,
    openPage: async (page) => {
      writeText(stdout, `${pageLines(page).join('\n')}\n`);
      await openLoginPage(page, env, cwd);
    },
  });
  await untilStopped(signal, logIn);
  writeText(stdout, `Logged in to ${args.name}.\n`);
  return exitCodes.done;
}
