/** The kind of a tool. `run` executes a `command`. `free` needs no permission. `other` is unknown. */
export type ToolKind = PathKind | 'run' | 'free' | 'other';

/**
 * The kind of a tool that takes a `path`. The tool reads the path, searches everything below it, or
 * changes it.
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
  ask_user: 'free',
};

/**
 * The names that a tool of an MCP server never gets. They are the names of the tools of this package, and
 * of tools that programs with this package usually have.
 */
export const reservedToolNames: ReadonlySet<string> = new Set([
  ...Object.keys(toolKinds),
  ...['task', 'read_output'],
]);

// The symbol is registered globally, so that two installed copies of this package use the same one. It is
// a property of the tool and not a set of objects, so that a copy of the tool keeps it.
const remoteMark = Symbol.for('millrace.tools.remote');

/**
 * Returns the tool with the mark that another program implements it. The name of such a tool does not
 * show what it does.
 */
export function markAsRemote<Given extends object>(tool: Given): Given {
  return { ...tool, [remoteMark]: true };
}

/** True if another program implements the tool, or the tool that it is a copy of. */
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
