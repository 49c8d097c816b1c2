import { createHash } from 'node:crypto';
import type { ConfigFile } from '../contract/config.ts';

/**
 * What a project's file may not say by itself, since anybody's repository can have one: which programs
 * are started, where keys and texts are sent, what needs no asking, where sessions are written, and
 * anything that is looser than the user's own file has it.
 */
export function riskyParts(settings: ConfigFile, userSettings: ConfigFile = {}): readonly string[] {
  return Object.keys(collectRiskyParts(settings, userSettings));
}

/** The same file without them. */
export function withoutRiskyParts(settings: ConfigFile, userSettings: ConfigFile = {}): ConfigFile {
  const { models, mcpServers, store, permissions, limits, ...rest } = settings;
  const harmless = { ...rest, ...(limits && { limits: strictLimits(limits, userSettings) }) };
  if (permissions === undefined) return harmless;
  const { allow, mode, ...others } = permissions;
  const isKept = mode !== undefined && !isLooser(mode, userSettings);
  return { ...harmless, permissions: isKept ? { ...others, mode } : others };
}

/** Of what is trusted, so that what is changed later is asked about again. */
export function fingerprintRiskyParts(settings: ConfigFile, userSettings: ConfigFile = {}): string {
  return createHash('sha256')
    .update(JSON.stringify(collectRiskyParts(settings, userSettings)))
    .digest('hex');
}

function collectRiskyParts(settings: ConfigFile, userSettings: ConfigFile): object {
  const { models, mcpServers, store, permissions, limits = {} } = settings;
  const mode = permissions?.mode;
  const isLimited =
    Object.keys(limits).length === Object.keys(strictLimits(limits, userSettings)).length;
  const parts = {
    models,
    mcpServers,
    store,
    'permissions.allow': permissions?.allow,
    'permissions.mode': mode !== undefined && isLooser(mode, userSettings) ? mode : undefined,
    limits: isLimited ? undefined : limits,
  };
  const isThere = (part: unknown) => part !== undefined && JSON.stringify(part).length > 2;
  return Object.fromEntries(Object.entries(parts).filter(([, part]) => isThere(part)));
}

type Mode = NonNullable<NonNullable<ConfigFile['permissions']>['mode']>;
type Limits = NonNullable<ConfigFile['limits']>;

const strictness: Readonly<Record<Mode, number>> = { allow: 0, ask: 1, 'read-only': 2 };

function isLooser(mode: Mode, { permissions }: ConfigFile): boolean {
  return strictness[mode] < strictness[permissions?.mode ?? 'ask'];
}

/** Those that are no higher than the user's own. */
function strictLimits(limits: Limits, { limits: own = {} }: ConfigFile): Limits {
  const names = ['maxTurns', 'maxTokens', 'maxCostUsd'] as const;
  const kept = names.flatMap((name) => {
    const limit = limits[name];
    return limit === undefined || limit > (own[name] ?? limit) ? [] : [[name, limit] as const];
  });
  return Object.fromEntries(kept);
}
