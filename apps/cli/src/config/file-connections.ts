import { resolve } from 'node:path';
import type { ConfiguredMcpServer, FileMcpServer, ModelConfig } from '../contract/config.ts';
import type { Env } from '../contract/host.ts';
import type { Layer } from './config-layers.ts';
import { loginsFolder } from './config-paths.ts';
import { errorAt } from './json-file.ts';
import type { ServerPlace } from './server-place.ts';

/**
 * Returns the models of a file after expanding environment variables. If a variable is missing, the
 * model is skipped with a warning.
 */
export function fileModels(
  { file, settings }: Layer,
  env: Env,
  warn: (warning: string) => void,
): Readonly<Record<string, ModelConfig>> {
  const models = Object.entries(settings.models ?? {}).flatMap(([name, given]) => {
    const { value, missing } = expandEnv(given, env);
    if (missing.length > 0) {
      warn(`The model ${name} of ${file.path} is skipped: set ${missing.join(' and ')}`);
      return [];
    }
    const { baseUrl, provider } = value;
    if (baseUrl !== undefined && !isHttpUrl(baseUrl)) {
      throw errorAt(file, ['models', name, 'baseUrl'], 'must be an http or https URL');
    }
    if (baseUrl !== undefined && hasPassword(baseUrl)) {
      const why = 'contains a password. Put it into headers.authorization';
      throw errorAt(file, ['models', name, 'baseUrl'], why);
    }
    if (provider === 'compatible' && baseUrl === undefined) {
      throw errorAt(file, ['models', name], 'needs a baseUrl, because its server is unknown');
    }
    const secrets = pathSecrets(baseUrl, expandEnv(given.baseUrl, env).used);
    return [[name, secrets.length === 0 ? value : { ...value, secrets }] as const];
  });
  return Object.fromEntries(models);
}

/** Minimum length of a variable in a path that can be a key. Shorter values are names. */
const minKeyLength = 16;

/** Returns the values of variables in the path of a URL. Some gateways have a key there. */
function pathSecrets(url: string | undefined, values: readonly string[]): readonly string[] {
  const { pathname = '' } = URL.parse(url ?? '') ?? {};
  return values.filter((value) => value.length >= minKeyLength && pathname.includes(value));
}

function isHttpUrl(url: string): boolean {
  return /^https?:$/.test(URL.parse(url)?.protocol ?? '');
}

/**
 * Returns true if a URL contains a user name or a password. `fetch` rejects such a URL, and error
 * messages would show the password.
 */
export function hasPassword(url: string): boolean {
  const { username = '', password = '' } = URL.parse(url) ?? {};
  return username !== '' || password !== '';
}

/** Values that are needed to read the MCP servers of a file. */
export interface ServerContext {
  readonly env: Env;
  /** The working folder. */
  readonly cwd: string;
  /** The folder and PATH for servers of the user's own file. */
  readonly place: ServerPlace;
}

/** Returns the MCP servers of a file by name. The value of a disabled server is undefined. */
export function fileMcpServers(
  layer: Layer,
  at: ServerContext,
  warn: (warning: string) => void,
): ReadonlyMap<string, ConfiguredMcpServer | undefined> {
  const { place } = at;
  const env = layer.owner === 'user' ? { ...at.env, PATH: place.searchPath } : at.env;
  const servers = Object.entries(layer.settings.mcpServers ?? {}).map(([name, given]) => {
    if (given.disabled) return [name, undefined] as const;
    checkFields(layer, name, given);
    const { value, missing } = expandEnv(given, env);
    if (missing.length === 0) return [name, toMcpServer(layer, name, value, at)] as const;
    warn(`The MCP server ${name} of ${layer.file.path} is skipped: set ${missing.join(' and ')}`);
    return [name, undefined] as const;
  });
  return new Map(servers);
}

const fieldsByTransport = { command: ['args', 'env', 'cwd'], url: ['headers', 'oauth'] } as const;

function checkFields({ file }: Layer, name: string, server: FileMcpServer): void {
  const isCommand = server.command !== undefined;
  if (isCommand === (server.url !== undefined)) {
    throw errorAt(file, ['mcpServers', name], 'needs either a command or a url');
  }
  const misplaced = fieldsByTransport[isCommand ? 'url' : 'command'].find(
    (field) => server[field] !== undefined,
  );
  if (misplaced === undefined) return;
  const why = `belongs to a ${isCommand ? 'url' : 'command'}, and this server has a ${isCommand ? 'command' : 'url'}`;
  throw errorAt(file, ['mcpServers', name, misplaced], why);
}

function toMcpServer(
  layer: Layer,
  name: string,
  server: FileMcpServer,
  { cwd, place, env: userEnv }: ServerContext,
): ConfiguredMcpServer {
  const { command, args, url = '', headers, oauth, connectTimeoutMs } = server;
  const timeout = connectTimeoutMs === undefined ? {} : { connectTimeoutMs };
  if (command !== undefined) {
    const { folder, searchPath: PATH } = place;
    const isOwn = layer.owner === 'user';
    const env = isOwn && PATH !== undefined ? { PATH, ...server.env } : server.env;
    const usual = isOwn ? folder : cwd;
    const start = server.cwd === undefined ? usual : resolve(cwd, server.cwd);
    return { name, stdio: { command, args, env, cwd: start }, ...timeout };
  }
  const folder = loginsFolder(userEnv);
  const login = folder === undefined ? {} : { login: { ...oauth, folder } };
  if (isHttpUrl(url)) return { name, http: { url, headers }, ...login, ...timeout };
  throw errorAt(layer.file, ['mcpServers', name, 'url'], 'must be an http or https URL');
}

interface Expanded<Value> {
  readonly value: Value;
  /** The variables that the value uses but that are not set. */
  readonly missing: readonly string[];
  /** The values of the variables that the value uses. */
  readonly used: readonly string[];
}

const variablePattern = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}]*))?\}/g;

/**
 * Expands environment variables in all strings of a value: `${NAME}` or `${NAME:-default}`. With
 * variables, the file need not contain keys.
 */
function expandEnv<Value>(value: Value, env: Env): Expanded<Value> {
  const missing: string[] = [];
  const used: string[] = [];
  const expandText = (text: string) =>
    text.replace(variablePattern, (_, name: string, otherwise: string | undefined) => {
      const found = (Object.hasOwn(env, name) && env[name]) || otherwise;
      if (found === undefined) missing.push(name);
      else used.push(found);
      return found ?? '';
    });
  const expand = (part: unknown): unknown => {
    if (typeof part === 'string') return expandText(part);
    if (Array.isArray(part)) return part.map(expand);
    if (typeof part !== 'object' || part === null) return part;
    return Object.fromEntries(Object.entries(part).map(([name, each]) => [name, expand(each)]));
  };
  return { value: expand(value) as Value, missing: [...new Set(missing)], used };
}
