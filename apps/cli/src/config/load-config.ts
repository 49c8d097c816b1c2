import { dirname, resolve } from 'node:path';
import { isDecimal } from '@millrace/core';
import type { McpServer } from '@millrace/tools/mcp';
import type { ConfigArgs } from '../contract/args.ts';
import type { Config, ConfigFile, LimitsConfig, Untrusted } from '../contract/config.ts';
import { ConfigError } from '../contract/errors.ts';
import type { Env } from '../contract/host.ts';
import { configLayers, type Layer } from './config-layers.ts';
import { fileMcpServers, fileModels } from './file-connections.ts';
import { permissionsOf } from './permissions.ts';

interface LoadConfigOptions {
  readonly args: ConfigArgs;
  readonly env: Env;
  /** The folder that is worked in. */
  readonly cwd: string;
}

/**
 * All that a run goes by: flags over environment over ./millrace.json over the user's own file. Throws a
 * `ConfigError` that names the file and the place in it.
 */
export async function loadConfig({ args, env, cwd }: LoadConfigOptions): Promise<Config> {
  const said = envSettings(env);
  const onlyFile = args.config ?? said.config;
  const read = await configLayers({ args, env, cwd, onlyFile });
  const { layers, untrusted, foldersFile } = read;
  const warnings = untrusted === undefined ? [] : [untrustedWarning(untrusted)];
  const warn = (warning: string) => void warnings.push(warning);
  const ofFiles = <Name extends keyof ConfigFile>(name: Name) =>
    layers.findLast(({ settings }) => settings[name] !== undefined)?.settings[name];
  return {
    model: args.model ?? said.model ?? ofFiles('model'),
    models: Object.assign({}, ...layers.map((layer) => fileModels(layer, env, warn))),
    reasoning: ofFiles('reasoning'),
    system: args.system ?? said.system ?? ofFiles('system'),
    limits: limitsOf(args, said, layers),
    permissions: await permissionsOf(read, args),
    mcpServers: mcpServersOf(layers, { env, cwd }, warn),
    store: storeOf(args.store ?? said.store, layers, cwd),
    compactAtTokens: ofFiles('compactAtTokens'),
    files: layers.map(({ file }) => file.path).toReversed(),
    warnings,
    foldersFile,
    untrusted,
  };
}

function limitsOf(args: ConfigArgs, said: EnvSettings, layers: readonly Layer[]): LimitsConfig {
  const ofFiles: NonNullable<ConfigFile['limits']> = Object.assign(
    {},
    ...layers.map(({ settings }) => settings.limits),
  );
  const { maxTurns, maxTokens, maxCostUsd } = ofFiles;
  const amount = args.maxCost ?? said.maxCost ?? decimalOf(maxCostUsd);
  return {
    maxTurns: args.maxTurns ?? said.maxTurns ?? maxTurns,
    maxTokens: args.maxTokens ?? said.maxTokens ?? maxTokens,
    maxCost: amount === undefined ? undefined : { amount, currency: 'USD' },
  };
}

/** Money is no float from here on. */
function decimalOf(amount: number | undefined): string | undefined {
  return amount?.toFixed(9).replace(/\.?0+$/, '');
}

/** A server of a stronger file takes the place of one of the same name, and may switch it off. */
function mcpServersOf(
  layers: readonly Layer[],
  at: { readonly env: Env; readonly cwd: string },
  warn: (warning: string) => void,
): readonly McpServer[] {
  const byName = new Map(layers.flatMap((layer) => [...fileMcpServers(layer, at, warn)]));
  return [...byName.values()].filter((server) => server !== undefined);
}

/** What a file says is from that file's folder on, what was typed from this one on. */
function storeOf(
  typed: string | undefined,
  layers: readonly Layer[],
  cwd: string,
): string | undefined {
  if (typed !== undefined) return resolve(cwd, typed);
  const layer = layers.findLast(({ settings }) => settings.store !== undefined);
  return layer && resolve(dirname(layer.file.path), layer.settings.store ?? '');
}

function untrustedWarning({ path, parts }: Untrusted): string {
  const what = `${parts.join(', ')} of ${path} ${parts.length === 1 ? 'is' : 'are'} left out`;
  return `${what}: anybody's project can have such a file. Look at it, and take all of it with --trust`;
}

/** What the environment says; empty variables say nothing. */
interface EnvSettings {
  readonly model: string | undefined;
  readonly system: string | undefined;
  readonly store: string | undefined;
  readonly config: string | undefined;
  readonly maxTurns: number | undefined;
  readonly maxTokens: number | undefined;
  readonly maxCost: string | undefined;
}

function envSettings(env: Env): EnvSettings {
  const text = (name: string) => env[name] || undefined;
  return {
    model: text('MILLRACE_MODEL'),
    system: text('MILLRACE_SYSTEM'),
    store: text('MILLRACE_STORE'),
    config: text('MILLRACE_CONFIG'),
    maxTurns: count('MILLRACE_MAX_TURNS', text('MILLRACE_MAX_TURNS')),
    maxTokens: count('MILLRACE_MAX_TOKENS', text('MILLRACE_MAX_TOKENS')),
    maxCost: amount('MILLRACE_MAX_COST', text('MILLRACE_MAX_COST')),
  };
}

function count(name: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const number = /^\d{1,15}$/.test(value) ? Number(value) : 0;
  if (number > 0) return number;
  throw new ConfigError(`The variable ${name} has to be a whole number from 1 on`, { name });
}

function amount(name: string, value: string | undefined): string | undefined {
  if (value === undefined || (isDecimal(value) && Number(value) > 0)) return value;
  throw new ConfigError(`The variable ${name} has to be an amount in dollars, such as 0.50`, {
    name,
  });
}
