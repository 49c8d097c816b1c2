import { isAbsolute, relative, resolve } from 'node:path';
import type { Metadata } from '@millrace/core';
import { sandboxRuleNames } from '@millrace/tools';
import { isInside } from '../config/config-paths.ts';
import { type HookFolders, movedPath, usedPath } from './hooks/hook-paths.ts';

/**
 * The names of the tools in Claude Code, by our names. Hooks and sub-agents that were written for it
 * use these names. The first name is sent to hooks, and matchers may use any of them.
 */
const otherNames: Readonly<Record<string, readonly [string, ...string[]]>> = {
  bash: ['Bash'],
  read: ['Read'],
  write: ['Write'],
  edit: ['Edit', 'MultiEdit'],
  grep: ['Grep'],
  glob: ['Glob'],
  ls: ['LS'],
  task: ['Task', 'Agent'],
  ask_user: ['AskUserQuestion'],
  skill: ['Skill'],
  web_fetch: ['WebFetch'],
  web_search: ['WebSearch'],
  todo: ['TodoWrite'],
};

/** The names that rules can have for the tools of the agent. Some sessions do not have all of these tools. */
export const toolNames: readonly string[] = [
  ...Object.keys(otherNames),
  ...['read_output', ...Object.values(sandboxRuleNames), 'mcp_approval'],
];

/** Tools of Claude Code that do not exist here. */
const missingNames: ReadonlySet<string> = new Set(
  'NotebookEdit NotebookRead BashOutput KillShell KillBash ExitPlanMode SlashCommand'.split(' '),
);

/** Returns the tools of a matcher that do not exist here. A guard for them never runs. */
export function missingTools(matcher = ''): readonly string[] {
  return matcher.split(/[|,\s]+/).filter((name) => missingNames.has(name));
}

/** Returns our name of a tool for a name in a file, such as `Bash(git diff:*)`. */
export function ownToolName(name: string): string {
  const plain = name.replace(/\(.*$/s, '').trim();
  const known = Object.entries(otherNames).find(([, names]) => names.includes(plain));
  return known?.[0] ?? plain;
}

/** Returns our name of a tool for a name of Claude Code, or for our name in other letter case. */
export function similarToolName(name: string): string | undefined {
  const wanted = name.toLowerCase();
  const isSame = (one: string) => one.toLowerCase() === wanted;
  return Object.entries(otherNames).find(([own, names]) => [own, ...names].some(isSame))?.[0];
}

/** A tool call in the form that hooks expect. */
export interface HookCall {
  readonly toolName: string;
  /** All names that a matcher can use. */
  readonly names: readonly string[];
  readonly input: Fields;
  /** The path of the call without its links, and as the model wrote it. Conditions are compared with both. */
  readonly paths: readonly string[];
  /** The real path that the tool uses, if the call has a path. It is not moved to the folder of the session. */
  readonly real?: string | undefined;
  /** The name for hooks that expect several replacements, if the call has several. */
  readonly manyName?: string | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Translates a tool call into the form that hooks expect. `servers` contains the names of the MCP
 * servers, because hooks know the tool of a server as `mcp__server__tool`.
 */
export function toHookCall(
  name: string,
  input: unknown,
  { servers = [], ...folders }: HookFolders & { readonly servers?: readonly string[] },
): HookCall {
  const fields = fieldsOf(input);
  const names = otherNames[name];
  if (names !== undefined) {
    const hookInput = toHookInput(name, fields, folders);
    const manyName = 'edits' in hookInput ? names[1] : undefined;
    const known = { toolName: names[0], names: [...names, name], input: hookInput, manyName };
    const given = pathOf(name, fields);
    if (given === undefined) return { ...known, paths: [] };
    const { cwd, root = cwd } = folders;
    const { real, path } = usedPath(given, folders);
    return {
      ...known,
      real,
      paths: [...new Set([path, resolve(cwd, movedPath(given, root, cwd))])],
    };
  }
  // The names of servers can overlap, such as `git` and `git_admin`. The longest name is the right one.
  const [server] = servers
    .filter((one) => name.startsWith(`${one}_`))
    .toSorted((a, b) => b.length - a.length);
  const remote = server && `mcp__${server}__${name.slice(server.length + 1)}`;
  const all = remote ? [remote, name] : [name];
  return { toolName: remote ?? name, names: all, input: fields, paths: [] };
}

/** The tools that use the path in their input. */
const pathTools: ReadonlySet<string> = new Set(['read', 'write', 'edit', 'grep', 'glob', 'ls']);

function pathOf(name: string, { path }: Fields): string | undefined {
  return pathTools.has(name) && typeof path === 'string' ? path : undefined;
}

function toHookInput(name: string, fields: Fields, folders: HookFolders): Fields {
  const { path, ...rest } = fields;
  const { cwd, root = cwd } = folders;
  const file = typeof path === 'string' ? { file_path: usedPath(path, folders).path } : {};
  switch (name) {
    case 'read':
    case 'write':
      return { ...file, ...rest };
    case 'edit': {
      const edits = editsOf(fields).map(({ old_text, new_text, replace_all = false }) => {
        return { old_string: old_text, new_string: new_text, replace_all };
      });
      // Hooks of Claude Code expect one replacement. Several are joined, so that a hook that
      // searches the new text finds all of it.
      const joined = {
        old_string: edits.map(({ old_string }) => old_string).join('\n'),
        new_string: edits.map(({ new_string }) => new_string).join('\n'),
        replace_all: edits.every(({ replace_all }) => replace_all === true),
      };
      return { ...file, ...joined, ...(edits.length > 1 && { edits }) };
    }
    case 'bash': {
      const { timeout_ms: timeout, background, command, ...others } = fields;
      return {
        ...(typeof command === 'string' ? { command: movedText(command, root, cwd) } : { command }),
        ...others,
        ...(timeout !== undefined && { timeout }),
        ...(background !== undefined && { run_in_background: background }),
      };
    }
    case 'task': {
      const { agent, task } = fields;
      return { subagent_type: agent, prompt: task, description: String(task ?? '').slice(0, 80) };
    }
    case 'skill':
      return { ...fields, skill: fields['name'] };
    default: {
      const used = pathOf(name, fields);
      return used === undefined ? fields : { ...fields, path: usedPath(used, folders).path };
    }
  }
}

/** Replaces a folder in a text, such as a command. */
function movedText(text: string, from: string, to: string): string {
  if (from === to) return text;
  const folder = new RegExp(`${from.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}(?![\\w.-])`, 'g');
  return text.replace(folder, () => to);
}

/**
 * Translates an input that a hook changed back into our form. Fields that the hook left out keep
 * their values. Returns undefined if the change cannot be expressed.
 */
export function fromHookInput(
  name: string,
  original: unknown,
  updated: Fields,
  folders: HookFolders,
): Fields | undefined {
  const before = fieldsOf(original);
  const { cwd, root = cwd } = folders;
  const { file_path: file, ...rest } = updated;
  const path = typeof file === 'string' ? { path: ownPath(file, before, folders) } : {};
  switch (name) {
    case 'read':
      return { ...before, ...pick(rest, ['offset', 'limit']), ...path };
    case 'write':
      return { ...before, ...pick(rest, ['content']), ...path };
    case 'edit': {
      const edits = editsFromHook(updated, editsOf(before));
      return edits && { ...before, edits, ...path };
    }
    case 'bash': {
      const { timeout, command } = rest;
      const limit = typeof timeout === 'number' ? { timeout_ms: timeout } : {};
      const isChanged = command !== toHookInput(name, before, folders)['command'];
      const moved = typeof command === 'string' ? movedText(command, cwd, root) : command;
      // A hook must not take a command out of the sandbox, so only these fields can change.
      const changed = { ...pick(rest, ['description']), ...limit };
      return { ...before, ...changed, ...('command' in rest && isChanged && { command: moved }) };
    }
    case 'task': {
      const { prompt: task } = rest;
      return typeof task === 'string' ? { ...before, task } : before;
    }
    default: {
      const { path: place } = updated;
      const isPath =
        typeof place === 'string' && (pathTools.has(name) || isMovedPath(place, folders));
      return { ...before, ...updated, ...(isPath && { path: ownPath(place, before, folders) }) };
    }
  }
}

/** True if a tool that is not ours may get a path in the folder of the session, and works in a different folder. */
function isMovedPath(path: string, { cwd, root = cwd }: HookFolders): boolean {
  return root !== cwd && isAbsolute(path);
}

/** Keeps the path as the model wrote it, if the hook did not change it. */
function ownPath(file: string, { path }: Fields, folders: HookFolders): string {
  const full = resolve(folders.cwd, file);
  if (typeof path === 'string' && usedPath(path, folders).path === full) return path;
  // The path is relative, so the tool uses it in its own folder.
  return isInside(full, folders.cwd) ? relative(folders.cwd, full) : file;
}

interface OwnEdit {
  readonly old_text?: unknown;
  readonly new_text?: unknown;
  readonly replace_all?: unknown;
}

function editsOf({ edits }: Fields): readonly OwnEdit[] {
  return Array.isArray(edits) ? edits.map(fieldsOf) : [];
}

function editsFromHook(
  updated: Fields,
  before: readonly OwnEdit[],
): readonly OwnEdit[] | undefined {
  const list = Array.isArray(updated['edits']) ? updated['edits'].map(fieldsOf) : undefined;
  if (list === undefined && before.length > 1) return undefined;
  return (list ?? [updated]).map(({ old_string, new_string, replace_all }, index) => {
    const own = before[index] ?? {};
    const all = replace_all ?? own.replace_all;
    return {
      old_text: old_string ?? own.old_text,
      new_text: new_string ?? own.new_text,
      ...(all !== undefined && { replace_all: all }),
    };
  });
}

interface ToolOutput {
  readonly text: string;
  readonly isError?: boolean | undefined;
  readonly metadata?: Metadata | undefined;
}

/** Returns the output of a tool in its full form, as the agent does. */
export function outputOf(returned: unknown): ToolOutput {
  if (returned === undefined) return { text: 'Done.' };
  if (typeof returned === 'string') return { text: returned };
  const { output } = (returned ?? {}) as { readonly output?: ToolOutput };
  if (typeof output === 'object' && typeof output?.text === 'string') return output;
  return { text: JSON.stringify(returned) ?? 'Done.' };
}

/** Returns the result of a tool in the form that hooks expect. */
export function responseFor(
  name: string,
  { file_path: filePath }: Readonly<Record<string, unknown>>,
  { text, isError = false }: ToolOutput,
): unknown {
  switch (name) {
    case 'bash':
      return { stdout: text, stderr: '', interrupted: false, isImage: false };
    case 'write':
    case 'edit':
    case 'read':
      return { filePath, success: !isError, content: text };
    default:
      return text;
  }
}

function pick(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => names.includes(name)));
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Fields)
    : {};
}
