import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { type Hook, type HookEvent, hookEvents } from '../contract/extensions.ts';
import type { ExtensionPlace } from './extension-files.ts';
import { missingTools } from './tool-names.ts';

const defaultTimeoutMs = 60_000;
const maxTimeoutMs = 600_000;
/** Maximum number of hooks in one settings file. */
const maxHooks = 200;
/** Maximum length of a command. Its words are examined before the user is asked for trust. */
const maxCommandLength = 8000;

const handlerSchema = z.looseObject({
  type: z.string().optional(),
  command: z.string().optional(),
  args: z.array(z.string()).optional(),
  timeout: z.number().positive().optional(),
  async: z.boolean().optional(),
  if: z.string().optional(),
});

const groupSchema = z.looseObject({
  matcher: z.string().optional(),
  hooks: z.array(z.unknown()).optional(),
});

/**
 * Reads the hooks of a settings file in the format of Claude Code. Other settings of the file are
 * ignored. `warn` receives a sentence about each hook that is not used.
 */
export function parseHookSettings(
  content: string,
  file: string,
  { origin, parent, plugin, isForeign = false }: HookPlace,
  warn: (problem: string) => void,
): readonly Hook[] {
  const settings = parseObject(content);
  if (settings === undefined) {
    warn(`The hooks of ${file} are not used: the file is not a JSON object.`);
    return [];
  }
  if (settings['disableAllHooks'] === true) return [];
  const ofPlugin = plugin && { pluginFolder: plugin.folder, startsInPlugin: !isForeign };
  const place = { origin, file, projectFolder: parent, ...ofPlugin };
  const found = Object.entries(objectOf(settings['hooks'])).flatMap(([event, groups]) => {
    if (!isHookEvent(event)) {
      warn(`The hooks for ${event} in ${file} are not used: this event is not supported.`);
      return [];
    }
    return (Array.isArray(groups) ? groups : []).flatMap((group) =>
      hooksOfGroup(group, { event, ...place }, warn),
    );
  });
  if (found.length > maxHooks)
    warn(`${file} has ${found.length} hooks. Only the first ${maxHooks} are used.`);
  return found.slice(0, maxHooks);
}

interface HookPlace extends Pick<ExtensionPlace, 'origin' | 'parent' | 'plugin'> {
  /** True if the hooks belong to a plugin of Claude Code. Default: false. */
  readonly isForeign?: boolean | undefined;
}

type HookBase = Pick<
  Hook,
  'event' | 'origin' | 'file' | 'projectFolder' | 'pluginFolder' | 'startsInPlugin'
>;

function hooksOfGroup(
  group: unknown,
  base: HookBase,
  warn: (problem: string) => void,
): readonly Hook[] {
  const place = `A hook for ${base.event} in ${base.file}`;
  const parsed = groupSchema.safeParse(group);
  if (!parsed.success) {
    warn(`${place} is not used: its form is unknown.`);
    return [];
  }
  const { matcher, hooks = [] } = parsed.data;
  if (matcher !== undefined && !isPattern(matcher)) {
    warn(`${place} is not used: its matcher is not a valid regular expression.`);
    return [];
  }
  const missing = base.event.endsWith('ToolUse') ? missingTools(matcher) : [];
  if (missing.length > 0)
    warn(`${place} does not run for ${missing.join(' and ')}: there is no such tool.`);
  return hooks.flatMap((one) => {
    const handler = handlerSchema.safeParse(one);
    const {
      type = 'command',
      command,
      args = [],
      timeout,
      async: isAsync = false,
    } = handler.data ?? {};
    if (type !== 'command' || command === undefined || command.trim() === '') {
      warn(`${place} is not used: only hooks of the type "command" are supported.`);
      return [];
    }
    const line = [command, ...args.map(quoted)].join(' ');
    if (line.length > maxCommandLength) {
      warn(`${place} is not used: its command has more than ${maxCommandLength} characters.`);
      return [];
    }
    const limit = timeout === undefined ? defaultTimeoutMs : timeout * 1000;
    const { pluginFolder, startsInPlugin } = base;
    const isRelative = pluginFolder !== undefined && namesFileOf(pluginFolder, line);
    return {
      ...base,
      ...(isRelative && startsInPlugin === false && { startsInPlugin: true }),
      matcher: matcher === '' || matcher === '*' ? undefined : matcher,
      condition: handler.data?.if,
      command: line,
      timeoutMs: Math.min(limit, maxTimeoutMs),
      isAsync,
    };
  });
}

/**
 * True if the command names a file of the plugin by a relative path. In the folder of the session, a project could
 * have a script with the same name.
 */
function namesFileOf(pluginFolder: string, line: string): boolean {
  const words = line.split(/[\s;|&()"'<>]+/).filter((word) => /^[\w.]/.test(word));
  return words.some((word) => existsSync(join(pluginFolder, word)));
}

/** Quotes an argument for the shell. The variables for folders keep their effect. */
function quoted(argument: string): string {
  const text = `'${argument.replaceAll("'", `'\\''`)}'`;
  return text.replaceAll(folderVariables, (variable) => `'"${variable}"'`);
}

const folderVariables =
  /\$\{(?:CLAUDE|MILLRACE)_(?:PLUGIN_ROOT|PLUGIN_DIR|PLUGIN_DATA|PROJECT_DIR)\}/g;

function isPattern(matcher: string): boolean {
  if (matcher === '*') return true;
  try {
    new RegExp(matcher);
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns true if a matcher accepts one of the names. A matcher of names and `|` must equal a name.
 * Every other matcher is a regular expression.
 */
export function matcherAccepts(matcher: string | undefined, names: readonly string[]): boolean {
  if (matcher === undefined) return true;
  if (/^[\w\s|,-]+$/.test(matcher)) {
    const wanted = matcher.split(/[|,]/).map((one) => one.trim());
    return names.some((name) => wanted.includes(name));
  }
  const pattern = new RegExp(matcher);
  return names.some((name) => pattern.test(name));
}

function isHookEvent(name: string): name is HookEvent {
  return (hookEvents as readonly string[]).includes(name);
}

/** Parses a JSON object. Returns undefined if the text is something else. */
export function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns a value if it is an object, and otherwise an empty object. */
export function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : {};
}
