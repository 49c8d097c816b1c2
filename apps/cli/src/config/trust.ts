import { createHash } from 'node:crypto';
import { type ConfigFile, type SessionMode, sessionModes } from '../contract/config.ts';
import { searchesByItself } from '../models/searching-models.ts';

/**
 * Returns the names of the parts of a project's file that need the user's trust. Any repository can
 * contain such a file. These parts start programs, receive keys and texts, skip approval, or are
 * less strict than the user's own file.
 */
export function riskyParts(settings: ConfigFile, userSettings: ConfigFile = {}): readonly string[] {
  return Object.keys(collectRiskyParts(settings, userSettings));
}

/** Returns the risky parts as JSON. The user sees this text before giving trust. */
export function riskyContent(settings: ConfigFile, userSettings: ConfigFile = {}): string {
  return JSON.stringify(collectRiskyParts(settings, userSettings), null, 2);
}

/** The settings that any project may choose, except a model that searches the web. A new setting needs trust until it is in this list. */
const harmlessNames = [
  ...(['$schema', 'model', 'system', 'reasoning', 'cache', 'compactAtTokens'] as const),
  ...(['theme', 'notifications', 'plain', 'chain'] as const),
] as const;

/** Returns the settings without the risky parts. */
export function withoutRiskyParts(settings: ConfigFile, userSettings: ConfigFile = {}): ConfigFile {
  const { permissions, limits, sandbox, webSearch } = settings;
  const risky = riskyModel(settings, userSettings);
  const chosen = harmlessNames.filter(
    (name) => settings[name] !== undefined && !(name === 'model' && risky !== undefined),
  );
  const harmless: ConfigFile = {
    ...Object.fromEntries(chosen.map((name) => [name, settings[name]])),
    ...(webSearch === 'off' && { webSearch }),
    ...(limits && { limits: strictLimits(limits, userSettings) }),
    ...(sandbox?.profile === strictestProfile && { sandbox: { profile: strictestProfile } }),
  };
  if (permissions === undefined) return harmless;
  const { allow, mode, deny, ...others } = permissions;
  const isKept = mode !== undefined && !isLooser(mode, userSettings);
  const kept = deny?.filter((text) => !deniesOutside(text));
  const strict = { ...others, ...(kept && { deny: kept }), ...(isKept && { mode }) };
  return { ...harmless, permissions: strict };
}

/** Returns the model if it searches the web and is not a model that the user configured. */
function riskyModel({ model }: ConfigFile, { models = {} }: ConfigFile): string | undefined {
  const isRisky = model !== undefined && !Object.hasOwn(models, model) && searchesByItself(model);
  return isRisky ? model : undefined;
}

/**
 * True if a rule denies an absolute path. The sandbox hides such a path from commands, so a project could hide
 * system programs, as with `sandbox.hide`. A rule for a command can name a program with an absolute path.
 */
function deniesOutside(text: string): boolean {
  const [, tool = '', target = ''] = /^([^:=]*)[:=](.*)$/s.exec(text.trim()) ?? [];
  return !/^bash\b/.test(tool.trim()) && mayBeAbsolute(target.trim());
}

/**
 * True if a glob may match absolute paths: it begins with a slash, or with a group that contains a slash at the start of
 * a part, or an empty part. If this is unclear, the result is true.
 */
function mayBeAbsolute(glob: string): boolean {
  if (/^[\\"]*\//.test(glob)) return true;
  return /^(?:[\\{[]|[@?*+!]\()/.test(glob) && /[{(,|\\[]\/|[{(,|](?=[,|)}])|\?\(/.test(glob);
}

/**
 * Returns a fingerprint of the risky parts. If they change later, the fingerprint differs and the
 * user must give trust again.
 */
export function fingerprintRiskyParts(settings: ConfigFile, userSettings: ConfigFile = {}): string {
  return createHash('sha256')
    .update(JSON.stringify(collectRiskyParts(settings, userSettings)))
    .digest('hex');
}

function collectRiskyParts(settings: ConfigFile, userSettings: ConfigFile): object {
  const { models, mcpServers, permissions, limits = {}, sandbox, commands } = settings;
  const { webSearch } = settings;
  const mode = permissions?.mode;
  const isLimited =
    Object.keys(limits).length === Object.keys(strictLimits(limits, userSettings)).length;
  const parts = {
    models,
    model: riskyModel(settings, userSettings),
    mcpServers,
    sandbox: sandbox !== undefined && isStrictSandbox(sandbox) ? undefined : sandbox,
    commands,
    // A search sends texts to a service, and costs money.
    webSearch: webSearch === 'off' ? undefined : webSearch,
    'permissions.allow': permissions?.allow,
    'permissions.deny': permissions?.deny?.filter(deniesOutside),
    'permissions.mode': mode !== undefined && isLooser(mode, userSettings) ? mode : undefined,
    limits: isLimited ? undefined : limits,
  };
  const isThere = (part: unknown) => part !== undefined && JSON.stringify(part).length > 2;
  return Object.fromEntries(Object.entries(parts).filter(([, part]) => isThere(part)));
}

/**
 * The only sandbox profile that needs no trust. All other sandbox settings need trust, including a
 * list of hidden paths. With such a list, a project could hide system programs. Commands would then
 * fail until the user runs them outside of the sandbox.
 */
const strictestProfile = 'read-only' as const;

function isStrictSandbox(sandbox: NonNullable<ConfigFile['sandbox']>): boolean {
  const { profile = strictestProfile, ...others } = sandbox;
  return profile === strictestProfile && Object.keys(others).length === 0;
}

type Limits = NonNullable<ConfigFile['limits']>;

/** `sessionModes` starts with the strictest mode. */
function isLooser(mode: SessionMode, { permissions }: ConfigFile): boolean {
  return sessionModes.indexOf(mode) > sessionModes.indexOf(permissions?.mode ?? 'ask');
}

/** Returns the limits that are not higher than the user's own limits. */
function strictLimits(limits: Limits, { limits: own = {} }: ConfigFile): Limits {
  const names = ['maxTurns', 'maxTokens', 'maxCostUsd'] as const;
  const kept = names.flatMap((name) => {
    const limit = limits[name];
    return limit === undefined || limit > (own[name] ?? limit) ? [] : [[name, limit] as const];
  });
  return Object.fromEntries(kept);
}
