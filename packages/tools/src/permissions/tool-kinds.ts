/** What a tool does. `run` executes a `command`. `free` needs no permission. `other` is unknown. */
export type ToolKind = PathKind | 'run' | 'free' | 'other';

/** The tool takes a `path` and reads it, searches everything below it, or changes it. */
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
 * Names that a tool of an MCP server never gets: those of the tools of this package, and of tools
 * that programs with this package usually have.
 */
export const reservedToolNames: ReadonlySet<string> = new Set([
  ...Object.keys(toolKinds),
  ...['task', 'read_output'],
]);

// Registered globally, so that two installed copies of this package agree. A property and not a
// set of objects, so that a copy of the tool keeps it.
const remoteMark = Symbol.for('millrace.tools.remote');

/** Marks a tool that another program implements. Its name says nothing about what it does. */
export function markAsRemote<Given extends object>(tool: Given): Given {
  return { ...tool, [remoteMark]: true };
}

/** Whether a tool, or the tool that it is a copy of, is implemented by another program. */
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
