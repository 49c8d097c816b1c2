import { stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { isDecimal } from '@millrace/core';
import type { PermissionRule } from '@millrace/tools';
import type { McpServer } from '@millrace/tools/mcp';
import type { ConfigArgs } from '../contract/args.ts';
import type {
  Config,
  ConfigFile,
  LimitsConfig,
  PermissionsConfig,
  UntrustedFile,
} from '../contract/config.ts';
import { ConfigError } from '../contract/errors.ts';
import type { Env } from '../contract/host.ts';
import { mergeCommands, mergeSandbox, storeFiles } from './command-settings.ts';
import { type Layer, readConfigLayers } from './config-layers.ts';
import { fileMcpServers, fileModels, type ServerContext } from './file-connections.ts';
import { denyOwnPaths, mergePermissions } from './permissions.ts';
import { findServerPlace } from './server-place.ts';
import { protectedServerFiles } from './server-scripts.ts';

interface LoadConfigOptions {
  readonly args: ConfigArgs;
  readonly env: Env;
  /** The working folder. */
  readonly cwd: string;
  /** The parts of the project's file that the user has seen and trusts. Default: none. */
  readonly trusted?: UntrustedFile | undefined;
}

/**
 * Loads the configuration. The priority is: flags, environment, the project's millrace.json, the
 * user's config.json. Throws a `ConfigError` that contains the file and the position.
 */
export async function loadConfig(options: LoadConfigOptions): Promise<Config> {
  const { args, env, cwd } = options;
  const fromEnv = readEnvSettings(env);
  const onlyFile = args.config ?? fromEnv.config;
  const layered = await readConfigLayers({ ...options, onlyFile });
  const { layers, untrusted, foldersFile } = layered;
  const warnings = [
    ...layered.warnings,
    ...(untrusted === undefined ? [] : [untrustedWarning(untrusted)]),
  ];
  const warn = (warning: string) => void warnings.push(warning);
  const fromFiles = <Name extends keyof ConfigFile>(name: Name) =>
    layers.findLast(({ settings }) => settings[name] !== undefined)?.settings[name];
  const models = Object.assign({}, ...layers.map((layer) => fileModels(layer, env, warn)));
  const mcpServers = await mergeMcpServers(layers, { env, cwd }, warn);
  const store = resolveStore(args.store ?? fromEnv.store, layers, cwd);
  const named = onlyFile === undefined ? undefined : await fileOnDisk(layers[0]);
  const permissions = denyOwnPaths(await mergePermissions(layered, args), storeFiles(store));
  const webSearch = allowedSearch(args.webSearch ?? fromFiles('webSearch'), permissions, warn);
  return {
    ...chosenModel(args.model ?? fromEnv.model, layers),
    models,
    reasoning: fromFiles('reasoning'),
    system: args.system ?? fromEnv.system ?? fromFiles('system'),
    limits: mergeLimits(args, fromEnv, layers),
    permissions,
    sandbox: mergeSandbox({ layers, args, env, store, named }),
    commands: mergeCommands(layers),
    serverFiles: await protectedServerFiles(mcpServers, cwd),
    namedFile: named?.file.path,
    mcpServers,
    store,
    chain: fromFiles('chain'),
    compactAtTokens: fromFiles('compactAtTokens'),
    cache: fromFiles('cache'),
    webSearch,
    isProviderSearchOff: webSearch === 'off' || restrictsSearch(permissions),
    theme: fromFiles('theme'),
    plain: fromFiles('plain'),
    notifications: fromFiles('notifications'),
    files: layers.map(({ file }) => file.path).toReversed(),
    warnings,
    foldersFile,
    untrusted,
  };
}

/** Returns the name of the model. The model of a project is not a choice of the user. */
function chosenModel(
  named: string | undefined,
  layers: readonly Layer[],
): Pick<Config, 'model' | 'projectModel'> {
  const layer = layers.findLast(({ settings }) => settings.model !== undefined);
  const model = named ?? layer?.settings.model;
  const isOfProject = named === undefined && layer?.owner === 'project';
  return { model, ...(isOfProject && { projectModel: model }) };
}

/** Returns the layer if its file can be read again at the next start. A pipe of a shell cannot. */
async function fileOnDisk(layer: Layer | undefined): Promise<Layer | undefined> {
  const entry = layer && (await stat(layer.file.path).catch(() => undefined));
  return entry?.isFile() === true ? layer : undefined;
}

/**
 * Returns the setting, or `off` for a session that only reads. The search of a provider cannot ask the user, so
 * a rule that denies or asks switches it off.
 */
function allowedSearch(
  setting: Config['webSearch'],
  permissions: PermissionsConfig,
  warn: (warning: string) => void,
): Config['webSearch'] {
  if (permissions.mode === 'read-only') return 'off';
  if (setting !== 'hosted' || !restrictsSearch(permissions)) return setting;
  warn('The provider does not search the web, because a rule for web_search denies it or asks');
  return 'off';
}

/** True if the last rule about all searches denies or asks. */
function restrictsSearch({ rules }: PermissionsConfig): boolean {
  const isAbout = ({ tool = '*', path, command }: PermissionRule) =>
    path === undefined && command === undefined && (tool === '*' || tool === 'web_search');
  const { decision = 'allow' } = rules.findLast(isAbout) ?? {};
  return decision !== 'allow';
}

function mergeLimits(
  args: ConfigArgs,
  fromEnv: EnvSettings,
  layers: readonly Layer[],
): LimitsConfig {
  const fromFiles: NonNullable<ConfigFile['limits']> = Object.assign(
    {},
    ...layers.map(({ settings }) => settings.limits),
  );
  const { maxTurns, maxTokens, maxCostUsd, allowUnknownPrices } = fromFiles;
  const amount = args.maxCost ?? fromEnv.maxCost ?? toDecimal(maxCostUsd);
  return {
    maxTurns: args.maxTurns ?? fromEnv.maxTurns ?? maxTurns,
    maxTokens: args.maxTokens ?? fromEnv.maxTokens ?? maxTokens,
    maxCost: amount === undefined ? undefined : { amount, currency: 'USD' },
    ...(allowUnknownPrices !== undefined && { allowUnknownPrices }),
  };
}

/** Converts an amount of money from a number to an exact decimal in a string. */
function toDecimal(amount: number | undefined): string | undefined {
  return amount?.toFixed(9).replace(/\.?0+$/, '');
}

/**
 * Merges the MCP servers of all files. A file with higher priority can replace or disable a server
 * of the same name.
 */
async function mergeMcpServers(
  layers: readonly Layer[],
  { env, cwd }: Omit<ServerContext, 'place'>,
  warn: (warning: string) => void,
): Promise<readonly McpServer[]> {
  // Finding the place follows the links of all folders in PATH.
  if (layers.every(({ settings }) => settings.mcpServers === undefined)) return [];
  const at = { env, cwd, place: await findServerPlace(env, cwd) };
  const byName = new Map(layers.flatMap((layer) => [...fileMcpServers(layer, at, warn)]));
  return [...byName.values()].filter((server) => server !== undefined);
}

/**
 * Returns the absolute path of the store. In a file, the path is relative to the folder of that
 * file. A path that the user typed is relative to the working folder.
 */
function resolveStore(
  typed: string | undefined,
  layers: readonly Layer[],
  cwd: string,
): string | undefined {
  if (typed !== undefined) return resolve(cwd, typed);
  const layer = layers.findLast(({ settings }) => settings.store !== undefined);
  return layer && resolve(dirname(layer.file.path), layer.settings.store ?? '');
}

function untrustedWarning({ path, parts }: UntrustedFile): string {
  const what = `${parts.join(', ')} of ${path} ${parts.length === 1 ? 'is' : 'are'} skipped`;
  return `${what}: any project can contain such a file. Check it, and trust it with --trust`;
}

/** The settings from environment variables. An empty variable counts as not set. */
interface EnvSettings {
  readonly model: string | undefined;
  readonly system: string | undefined;
  readonly store: string | undefined;
  readonly config: string | undefined;
  readonly maxTurns: number | undefined;
  readonly maxTokens: number | undefined;
  readonly maxCost: string | undefined;
}

function readEnvSettings(env: Env): EnvSettings {
  const text = (name: string) => env[name] || undefined;
  return {
    model: text('MILLRACE_MODEL'),
    system: text('MILLRACE_SYSTEM'),
    store: text('MILLRACE_STORE'),
    config: text('MILLRACE_CONFIG'),
    maxTurns: parseCount('MILLRACE_MAX_TURNS', text('MILLRACE_MAX_TURNS')),
    maxTokens: parseCount('MILLRACE_MAX_TOKENS', text('MILLRACE_MAX_TOKENS')),
    maxCost: parseAmount('MILLRACE_MAX_COST', text('MILLRACE_MAX_COST')),
  };
}

function parseCount(name: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const number = /^\d{1,15}$/.test(value) ? Number(value) : 0;
  if (number > 0) return number;
  throw new ConfigError(`The variable ${name} must be a whole number of at least 1`, { name });
}

function parseAmount(name: string, value: string | undefined): string | undefined {
  if (value === undefined || (isDecimal(value) && Number(value) > 0)) return value;
  throw new ConfigError(`The variable ${name} must be an amount in dollars, such as 0.50`, {
    name,
  });
}
