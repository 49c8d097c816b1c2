import { spawn } from 'node:child_process';
import type { McpHttpServer, McpLoginPage, McpLogins, McpServer } from '@millrace/tools/mcp';
import { envOutsideProject } from '../config/server-place.ts';
import type { ConfiguredMcpServer, ServerLogin } from '../contract/config.ts';
import { UsageError } from '../contract/errors.ts';
import type { Env } from '../contract/host.ts';

/** The part of the module of MCP servers that stores logins. */
interface LoginModule {
  fileMcpLogins(folder: string): McpLogins;
}

/** Returns the form of a server that `connectMcp` takes, with its stored login. */
export function withLogin(
  { login, connectTimeoutMs: _limit, ...server }: ConfiguredMcpServer,
  module: LoginModule,
): McpServer {
  if (server.http === undefined || login === undefined) return server;
  return loginServer({ ...server, login }, module);
}

/** Returns the form of a server that `loginMcp` takes. */
export function loginServer(
  { name, http, login }: ServerWithLogin,
  { fileMcpLogins }: LoginModule,
): McpHttpServer {
  const { folder, ...settings } = login;
  return { name, http: { ...http, oauth: { ...settings, logins: fileMcpLogins(folder) } } };
}

type ServerWithLogin = McpHttpServer & { readonly login: ServerLogin };

/** Returns the named server if the user can log in to it. Throws otherwise. */
export function serverForLogin(
  servers: readonly ConfiguredMcpServer[],
  name: string,
): ServerWithLogin {
  const server = servers.find((one) => one.name === name);
  if (server === undefined) {
    const names = servers.map((one) => one.name).join(', ') || 'none';
    throw new UsageError(`There is no MCP server ${name}. The servers are: ${names}`);
  }
  const { login } = server;
  if (server.http === undefined || login === undefined)
    throw new UsageError(`The MCP server ${name} has no url, so there is no login`);
  return { ...server, login };
}

/** Returns the lines that tell the user where to log in. */
export function pageLines({ server, issuer, url, userCode }: McpLoginPage): readonly string[] {
  const host = hostsOf(url, issuer);
  if (userCode === undefined)
    return [
      `Log in to the MCP server ${server} at ${host}. Open this page if it does not open:`,
      url,
    ];
  return [
    `Log in to the MCP server ${server} at ${host}. Open this page on any device:`,
    url,
    `Enter the code ${userCode}`,
  ];
}

/** Returns the host of the login page, and that of the authorization server if it is another one. */
function hostsOf(url: string, issuer: string): string {
  const { host } = new URL(url);
  const issuerHost = URL.parse(issuer)?.host ?? issuer;
  return host === issuerHost ? host : `${host} (for the authorization server ${issuerHost})`;
}

/** Opens a login page in the browser of the user, unless the user has to open it on another device. */
export async function openLoginPage(page: McpLoginPage, env: Env, cwd: string): Promise<void> {
  if (page.startUrl !== undefined) await openBrowser(page.startUrl, env, cwd);
}

/**
 * Opens a page in the browser of the user, or does nothing if there is no browser. The address must be http or
 * https. No shell reads it, but other users of the machine can.
 */
export async function openBrowser(url: string, env: Env, cwd: string): Promise<void> {
  if (!/^https?:\/\//.test(url) || !hasDisplay(env)) return;
  // A program of the project must not be taken for the browser.
  const clean = await envOutsideProject(env, cwd);
  const [command, ...args] = browserCommands[process.platform] ?? ['xdg-open'];
  const child = spawn(command ?? 'xdg-open', [...args, url], {
    ...{ env: clean as NodeJS.ProcessEnv, cwd: '/', stdio: 'ignore', detached: true },
  });
  // The user still sees the address.
  child.on('error', () => {});
  child.unref();
}

const browserCommands: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: ['/usr/bin/open'],
  // Not `cmd /c start`: it would read special characters of the address.
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** False in a session over SSH and on a machine without a screen. */
function hasDisplay({ SSH_CONNECTION, DISPLAY, WAYLAND_DISPLAY }: Env): boolean {
  if (SSH_CONNECTION) return false;
  return process.platform !== 'linux' || Boolean(DISPLAY || WAYLAND_DISPLAY);
}
