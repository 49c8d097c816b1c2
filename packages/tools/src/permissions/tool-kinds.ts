import type { LexicalPath } from '../workspace/match-path.ts';

/**
 * The kind of a tool. `run` executes a `command`. `fetch` loads a `url`. `fetch:` and a host, such as
 * `fetch:api.example.com`, sends its input to that host. `free` needs no permission. `other` is unknown.
 */
export type ToolKind = PathKind | 'run' | FetchKind | 'free' | 'other';

/** The kind of a tool that uses the network. */
export type FetchKind = 'fetch' | `fetch:${string}`;

export function isFetchKind(kind: ToolKind): kind is FetchKind {
  return kind === 'fetch' || kind.startsWith('fetch:');
}

/**
 * The kind of a tool with a `path` input. The tool reads the path, searches everything below it, or changes
 * it.
 */
export type PathKind = 'read' | 'search' | 'write';

export function isPathKind(kind: ToolKind): kind is PathKind {
  return kind === 'read' || kind === 'search' || kind === 'write';
}

/** The kinds of the tools in this package. */
const toolKinds: Readonly<Record<string, ToolKind>> = {
  read: 'read',
  ls: 'read',
  grep: 'search',
  glob: 'search',
  write: 'write',
  edit: 'write',
  apply_patch: 'write',
  bash: 'run',
  web_fetch: 'fetch',
  web_search: 'fetch',
  ask_user: 'free',
  todo: 'free',
};

/**
 * The names that a tool of an MCP server never gets. These are the names of the tools in this package, and of
 * common tools in applications that use this package.
 */
export const reservedToolNames: ReadonlySet<string> = new Set([
  ...Object.keys(toolKinds),
  ...['task', 'read_output'],
]);

// The symbol is registered globally, so two installed copies of this package use the same symbol. It is a
// property of the tool, so a copy of the tool keeps it.
const remoteMark = Symbol.for('millrace.tools.remote');

/**
 * Marks the tool as implemented by a different program. The policy then ignores the meaning of the tool's
 * name.
 */
export function markAsRemote<Given extends object>(tool: Given): Given {
  return { ...tool, [remoteMark]: true };
}

/** True if a different program implements the tool. This also works for a copy of the tool. */
export function isRemoteTool(tool: object): boolean {
  return remoteMark in tool;
}

export function toolKindOf(
  tool: string,
  own: Readonly<Record<string, ToolKind>> | undefined,
  isRemote = false,
): ToolKind {
  if (isRemote && reservedToolNames.has(tool)) return 'other';
  const named = [own, toolKinds].find((kinds) => kinds !== undefined && Object.hasOwn(kinds, tool));
  return named?.[tool] ?? 'other';
}

/** Returns the names of all tools of a kind, sorted. */
export function toolsOfKind(
  kind: ToolKind,
  own: Readonly<Record<string, ToolKind>> = {},
): readonly string[] {
  const names = new Set([...Object.keys(toolKinds), ...Object.keys(own)]);
  return [...names].filter((name) => toolKindOf(name, own) === kind).sort();
}

/** The use of a path. */
export interface PathCall {
  readonly kind: PathKind;
  readonly path: LexicalPath;
  /** True if searches omit denied paths. */
  readonly skipsDenied: boolean;
  /** True if searches omit files for which a rule asks. */
  readonly skipsAsked: boolean;
  /** True if the call shows older content of everything below the path. Default: false. */
  readonly isHistory?: boolean | undefined;
  /** True if the call shows only names, sizes and dates of files, and no content. Default: false. */
  readonly isNamesOnly?: boolean | undefined;
  /** See `PolicyCall.obeyedName`. */
  readonly obeyedName?: string | undefined;
}
