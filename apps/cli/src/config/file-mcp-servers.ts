import { resolve } from 'node:path';
import type { McpServer } from '@millrace/tools/mcp';
import type { Env } from '../models/env.ts';
import { badPlace } from './check-file.ts';
import type { FileMcpServer } from './config-file.ts';
import { expandEnv } from './expand-env.ts';
import { isHttp } from './file-models.ts';
import type { Layer } from './layer.ts';

/** The MCP servers of a file as they are connected to, by name; nothing for one that is switched off. */
export function fileMcpServers(
  layer: Layer,
  { env, cwd }: { readonly env: Env; readonly cwd: string },
  warn: (warning: string) => void,
): ReadonlyMap<string, McpServer | undefined> {
  const servers = Object.entries(layer.settings.mcpServers ?? {}).map(([name, given]) => {
    if (given.disabled) return [name, undefined] as const;
    checkFields(layer, name, given);
    const { value, missing } = expandEnv(given, env);
    if (missing.length === 0) return [name, serverOf(layer, name, value, cwd)] as const;
    warn(`The MCP server ${name} of ${layer.file.path} is left out: set ${missing.join(' and ')}`);
    return [name, undefined] as const;
  });
  return new Map(servers);
}

const fieldsOf = { command: ['args', 'env', 'cwd'], url: ['headers'] } as const;

function checkFields({ file }: Layer, name: string, server: FileMcpServer): void {
  const isCommand = server.command !== undefined;
  if (isCommand === (server.url !== undefined)) {
    throw badPlace(file, ['mcpServers', name], 'needs either a command or a url');
  }
  const stray = fieldsOf[isCommand ? 'url' : 'command'].find(
    (field) => server[field] !== undefined,
  );
  if (stray === undefined) return;
  const why = `goes with a ${isCommand ? 'url' : 'command'}, and this server has a ${isCommand ? 'command' : 'url'}`;
  throw badPlace(file, ['mcpServers', name, stray], why);
}

function serverOf(layer: Layer, name: string, server: FileMcpServer, cwd: string): McpServer {
  const { command, args, env, url = '', headers } = server;
  if (command !== undefined) {
    return { name, stdio: { command, args, env, cwd: resolve(cwd, server.cwd ?? '.') } };
  }
  if (isHttp(url)) return { name, http: { url, headers } };
  throw badPlace(layer.file, ['mcpServers', name, 'url'], 'has to be an address of http or https');
}
